import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import { dropout, gelu } from '@acc/kernels';
import { memoryStats, resetPeakMemory, setSeed } from '@acc/native';
import { checkpoint } from '@acc/tape';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

const wave = (shape: number[], step = 1.7): tf.Tensor =>
  tf.tidy(() => tf.sin(tf.range(0, tf.util.sizeFromShape(shape)).mul(step)).reshape(shape));

const LAYERS = 4;
const STEPS = 7;

interface Steps {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  readonly peakBytes: number;
  readonly replays: number | undefined;
}

/** Steps on a chain of blocks, a part of each in float32 where there is mixed precision. */
async function train(
  options: AcceleratorOptions,
  { checkpointed, compiled = false }: { checkpointed: boolean; compiled?: boolean },
): Promise<Steps> {
  accelerator = await Accelerator.create({ engine: 'acc', ...options });
  const variables = Array.from({ length: LAYERS }, (_, i) => tf.variable(wave([32, 32], 0.3 + i).div(4)));
  const [, optimizer] = accelerator.prepare(variables, tf.train.adam(0.01));
  const block = (weight: tf.Variable) => (h: tf.Tensor2D) => {
    const product = gelu(tf.matMul(h, weight as never));
    const sums = accelerator.autocast(() => product.square().mean(1, true).add(1).sqrt(), { enabled: false });
    return dropout(product.div(sums), 0.2).add(h) as tf.Tensor2D;
  };
  const plain = (x: tf.Tensor, y: tf.Tensor) =>
    optimizer.minimize(() => {
      let h = x as tf.Tensor2D;
      for (const weight of variables) {
        h = checkpointed ? checkpoint(block(weight), [h]) : block(weight)(h);
      }
      return tf.losses.meanSquaredError(y, h) as tf.Scalar;
    }, true)!;
  const step = compiled ? accelerator.compile(plain) : plain;
  const [x, y] = [wave([512, 32]), wave([512, 32], 0.7)];
  setSeed(3);
  const losses: number[] = [];
  let peakBytes = NaN;
  for (let i = 0; i < STEPS; i++) {
    resetPeakMemory();
    const before = memoryStats().allocatedBytes;
    const loss = step(x, y);
    peakBytes = memoryStats().peakAllocatedBytes - before;
    losses.push(loss.dataSync()[0]!);
    loss.dispose();
  }
  const weights = variables.map((variable) => [...variable.dataSync()]);
  const replays = compiled ? (step as { replays?: number }).replays : undefined;
  accelerator.freeMemory();
  tf.dispose([...variables, x, y]);
  return { losses, weights, peakBytes, replays };
}

const OPTIONS: Readonly<Record<string, AcceleratorOptions>> = {
  float32: {},
  'mixed precision of bfloat16': { mixedPrecision: 'bf16' },
  'mixed precision of float16': { mixedPrecision: 'fp16' },
};

describe('checkpointed steps', () => {
  it.each(Object.entries(OPTIONS))(
    'equal steps that keep all activations, in less memory: %s',
    async (_, options) => {
      const kept = await train(options, { checkpointed: false });
      const again = await train(options, { checkpointed: true });
      expect(again.losses).toEqual(kept.losses);
      expect(again.weights).toEqual(kept.weights);
      expect(again.peakBytes).toBeLessThan(0.8 * kept.peakBytes);
    },
  );

  it.each(Object.entries(OPTIONS))('are replayed if they are compiled: %s', async (_, options) => {
    const kept = await train(options, { checkpointed: false });
    const again = await train(options, { checkpointed: true, compiled: true });
    expect(again.replays).toBe(STEPS - 3);
    expect(again.losses).toEqual(kept.losses);
    expect(again.weights).toEqual(kept.weights);
    expect(again.peakBytes).toBeLessThan(0.8 * kept.peakBytes);
  });
});
