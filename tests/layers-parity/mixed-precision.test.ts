import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { registerAccBackend } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { LAYER_CASES } from './cases/index.js';
import type { LayerCase } from './layer-case.js';
import { withSeededRandom } from './seeded.js';
import { trainLayer, type Observed, type Trained } from './train-layer.js';

beforeAll(async () => {
  registerAccBackend();
  setNumThreads(1);
  await tf.setBackend('acc');
});

async function train(layerCase: LayerCase, options: AcceleratorOptions): Promise<Trained> {
  using accelerator = await Accelerator.create({ engine: 'acc', ...options });
  return await withSeededRandom(() => trainLayer(layerCase, (model) => accelerator.prepare(model)));
}

/** The largest difference, relative to the largest value. */
function difference(actual: readonly Observed[], expected: readonly Observed[]): number {
  const flat = (tensors: readonly Observed[]) => tensors.flatMap(({ values }) => values);
  const [a, b] = [flat(actual), flat(expected)];
  expect(a.length).toBe(b.length);
  expect(a.every(Number.isFinite)).toBe(true);
  const largest = Math.max(...b.map(Math.abs), 1e-3);
  return Math.max(0, ...a.map((value, i) => Math.abs(value - b[i]!))) / largest;
}

const COMPARED = ['prediction', 'losses of step 1', 'gradients of step 1', 'evaluation'];

describe('layers in bf16 predict and train almost as in float32', () => {
  it.each(Object.entries(LAYER_CASES))('%s', async (_, layerCase) => {
    const wide = await train(layerCase, {});
    const short = await train(layerCase, { mixedPrecision: 'bf16' });
    for (const what of COMPARED) expect(difference(short[what]!, wide[what]!), what).toBeLessThan(0.05);
  });
});
