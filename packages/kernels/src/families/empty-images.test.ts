import { engine, zeros, type NamedAttrMap, type Tensor } from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';

const none = () => zeros([0, 2, 2, 3]);
const response = { depthRadius: 2, bias: 1, alpha: 1, beta: 0.5 };
const resize = { alignCorners: false, halfPixelCenters: false, size: [3, 4] };
const pool = { filterSize: 2, strides: 2, pad: 'valid' };
const conv = { strides: 1, pad: 'same', dataFormat: 'NHWC', dilations: 1 };

const CASES: readonly (readonly [string, () => Record<string, Tensor>, object])[] = [
  ['LRN', () => ({ x: none() }), response],
  ['LRNGrad', () => ({ x: none(), y: none(), dy: none() }), response],
  ['FusedBatchNorm', () => ({ x: none(), mean: zeros([3]), variance: zeros([3]) }), { varianceEpsilon: 0.1 }],
  ['Softmax', () => ({ logits: zeros([2, 0]) }), { dim: 1 }],
  ['ResizeBilinear', () => ({ images: none() }), resize],
  ['ResizeBilinearGrad', () => ({ images: none(), dy: zeros([0, 3, 4, 3]) }), resize],
  ['ResizeNearestNeighbor', () => ({ images: none() }), resize],
  ['ResizeNearestNeighborGrad', () => ({ images: none(), dy: zeros([0, 3, 4, 3]) }), resize],
  ['ResizeNearestNeighborGrad', () => ({ images: none(), dy: zeros([0, 4, 4, 3]) }), resize],
  ['MaxPoolWithArgmax', () => ({ x: none() }), { ...pool, includeBatchInIndex: true }],
  ['MaxPoolGrad', () => ({ dy: zeros([0, 1, 1, 3]), input: none(), output: zeros([0, 1, 1, 3]) }), pool],
  ['Conv2D', () => ({ x: zeros([2, 2, 2, 0]), filter: zeros([1, 1, 0, 3]) }), conv],
  [
    'FusedConv2D',
    () => ({ x: zeros([2, 2, 2, 0]), filter: zeros([1, 1, 0, 3]), bias: zeros([3]) }),
    { ...conv, activation: 'sigmoid' },
  ],
];

describe('images without elements', () => {
  it.each(CASES)('%s is as on cpu', (name, inputs, attrs) =>
    expectSameAsCpu(() => engine().runKernel(name, inputs(), attrs as NamedAttrMap) as Tensor | Tensor[]),
  );
});
