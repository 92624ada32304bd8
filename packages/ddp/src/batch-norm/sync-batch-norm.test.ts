import { kernelLayerOf } from '@acc/kernels';
import type { StrategyContext } from '@acc/contract';
import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import { syncBatchNorm } from './sync-batch-norm.js';

const kernels = () => kernelLayerOf(tf.getBackend(), tf.backend());
const context = {} as StrategyContext;
const layer = () => {
  const created = tf.layers.batchNormalization();
  created.build([2, 3]);
  return created;
};
afterEach(() => tf.disposeVariables());

it('comes before fused kernels, which leave its layers alone', () => {
  const norm = layer();
  const undo = syncBatchNorm([norm], context);
  const { call } = norm;
  kernels().fuseLayers([norm]);
  expect(norm.call).toBe(call);
  undo();
  expect(Object.hasOwn(norm, 'call')).toBe(false);
});

it('throws after fused kernels, which would hide the statistics of the ranks', () => {
  const norm = layer();
  const undo = kernels().fuseLayers([norm]);
  expect(() => syncBatchNorm([norm], context)).toThrow(expect.objectContaining({ code: 'ACC_PATCH_ORDER' }));
  undo();
});

it('leaves layers alone whose call a program has replaced', () => {
  const norm = layer();
  const local = () => tf.zeros([1]);
  norm.call = local;
  syncBatchNorm([norm], context)();
  expect(norm.call).toBe(local);
});
