import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { Accelerator } from '../accelerator.js';

const WIDTH = 64;
const LAYERS = 6;

it('replays need at most 1.05 times the memory that lives at the same time, and give what plain steps give', async () => {
  const train = async (isCompiled: boolean) => {
    const accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
    const weights = Array.from({ length: LAYERS }, (_, i) =>
      tf.variable(tf.randomNormal<tf.Rank.R2>([WIDTH, WIDTH], 0, 0.1, 'float32', i + 1)),
    );
    const [, optimizer] = accelerator.prepare(weights, tf.train.momentum(0.1, 0.9));
    const plain = (x: tf.Tensor2D) =>
      optimizer.minimize(() => {
        let h = x;
        for (const w of weights) h = h.add(tf.matMul(h, w as tf.Tensor as tf.Tensor2D).tanh());
        return h.square().mean().asScalar();
      }, true)!;
    const step = isCompiled ? accelerator.compile(plain) : plain;
    const x = tf.randomNormal<tf.Rank.R2>([16_384, WIDTH], 0, 1, 'float32', 9);
    const losses: number[] = [];
    const takeSteps = (count: number) => {
      for (let i = 0; i < count; i++) losses.push(tf.tidy(() => step(x).dataSync()[0]!));
    };
    takeSteps(6);
    resetPeakMemory();
    takeSteps(2);
    const { peakAllocatedBytes, reservedBytes } = memoryStats();
    const explanation = isCompiled ? (step as ReturnType<typeof accelerator.compile>).explain() : '';
    tf.dispose([weights, x]);
    accelerator.freeMemory();
    return { losses, ratio: reservedBytes / peakAllocatedBytes, explanation };
  };
  const plain = await train(false);
  const compiled = await train(true);
  expect(compiled.losses).toEqual(plain.losses);
  expect(compiled.ratio).toBeLessThan(1.05);
  expect(compiled.explanation).toMatch(/Memory: an arena of \d+\.\d MiB, 1\.0[0-4] times/);
});
