import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CompileOptions } from '@acc/compile';
import { Accelerator } from '../accelerator.js';
import { relativeDifference } from './testing.js';

let accelerator: Accelerator;
beforeEach(async () => {
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
});
afterEach(() => accelerator.freeMemory());

/** Trains a layer norm and a GELU in plain operators for some steps. Returns losses and weights. */
function train(options: CompileOptions): { values: number[]; explanation: string } {
  const weight = tf.variable(tf.randomNormal([8, 8], 0, 1, 'float32', 3));
  const gain = tf.variable(tf.ones([8]));
  const optimizer = tf.train.adam(0.01);
  accelerator.prepare(optimizer);
  const step = accelerator.compile((x: tf.Tensor2D) => {
    const loss = () => {
      const h = tf.matMul<tf.Tensor2D>(x, weight as unknown as tf.Tensor2D);
      const { mean, variance } = tf.moments(h, -1, true);
      const normalized = h.sub(mean).div(variance.add(1e-5).sqrt()).mul(gain);
      const inner = normalized.add(normalized.pow(3).mul(0.044715)).mul(0.8);
      return normalized.mul(0.5).mul(inner.tanh().add(1)).sub(x).square().mean().asScalar();
    };
    return optimizer.minimize(loss, true, [weight, gain])!;
  }, options);
  const x = tf.randomNormal<tf.Rank.R2>([16, 8], 0, 1, 'float32', 5);
  const losses = Array.from({ length: 8 }, () => step(x).dataSync()[0]!);
  expect(step.replays).toBe(5);
  return {
    values: [...losses, ...weight.dataSync(), ...gain.dataSync()],
    explanation: step.explain(),
  };
}

it('trains as the step without fusion does, and explains what was fused', () => {
  const plain = train({ fuse: false });
  expect(plain.explanation).toContain('Nothing is fused: the option fuse is false');
  const usual = train({});
  expect(usual.explanation).toContain("The option fuse is 'plain': elementwise operators run in programs");
  for (const { values } of [usual, train({ fuse: 'exact' })]) expect(values).toEqual(plain.values);
  const { values, explanation } = train({ fuse: true });
  expect(explanation).toMatch(/calls run as [1-9]\d* fused programs/);
  expect(explanation).toContain('tanh');
  // The losses of eight steps with Adam, the weights and the gains.
  for (const range of [
    [0, 8],
    [8, 72],
    [72, 80],
  ] as const) {
    expect(relativeDifference(values.slice(...range), plain.values.slice(...range))).toBeLessThan(1e-6);
  }
});

it('explains steps that are not replayed', () => {
  const step = accelerator.compile((x: tf.Tensor) => x.add(1), { fuse: true });
  expect(step.explain()).toBe('The step is not replayed yet.');
});

it.each<[object, string]>([
  [{ fused: true }, 'ACC_UNKNOWN_OPTION'],
  [{ fuse: 'fast' }, 'ACC_INVALID_OPTION'],
])('refuses the options %j', (options, code) => {
  expect(() => accelerator.compile(() => undefined, options)).toThrowError(expect.objectContaining({ code }));
});
