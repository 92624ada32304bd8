// A policy learns to keep a pole upright (REINFORCE: Williams, "Simple Statistical
// Gradient-Following Algorithms for Connectionist Reinforcement Learning", 1992). Processes share
// the episodes of an iteration. Episodes have different lengths, so `weighLoss` says how many moves
// the loss of a process is the mean of.
//   npx acc launch -n 2 examples/cart-pole/train.ts [--iterations 60] [--episodes 16]
import { Accelerator, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { readNumbers } from '../arguments.js';
import type { State } from './cart-pole.js';
import { play, type Move } from './episodes.js';

const { iterations, episodes } = readNumbers({ iterations: 60, episodes: 16 });
const accelerator = await Accelerator.create();

setSeed(3);
const [model, optimizer] = accelerator.prepare(
  tf.sequential({
    layers: [
      tf.layers.dense({ inputShape: [4], units: 32, activation: 'tanh' }),
      tf.layers.dense({ units: 1 }),
    ],
  }),
  tf.train.adam(0.02),
);

for (let iteration = 0; iteration < iterations; iteration++) {
  const seeds = Array.from({ length: episodes }, (_, i) => iteration * episodes + i);
  const moves = accelerator.splitBetweenProcesses(seeds, (own) => play(own, chancesOf));
  const lengths = accelerator.gatherObject(moves.map(({ length }) => length));
  learn(moves.flat());
  const mean = lengths.reduce((sum, length) => sum + length, 0) / episodes;
  accelerator.print(`iteration ${iteration + 1}: ${mean.toFixed(4)} steps upright`);
}
await accelerator.endTraining();

/** The logit of a push to the right, [rows, 1]. */
function logitsOf(states: readonly State[]): tf.Tensor2D {
  return model.apply(tf.tensor2d(states as unknown as number[][], [states.length, 4])) as tf.Tensor2D;
}

function chancesOf(states: readonly State[]): ArrayLike<number> {
  return tf.tidy(() => tf.sigmoid(logitsOf(states)).dataSync());
}

/** Makes moves likelier that returned more than the mean of all processes. */
function learn(moves: readonly Move[]): void {
  const { mean, deviation } = statisticsOf(moves.map(({ returned }) => returned));
  optimizer.minimize(() => {
    const labels = moves.map(({ isToTheRight }) => [Number(isToTheRight)]);
    const advantages = moves.map(({ returned }) => [(returned - mean) / deviation]);
    const states = moves.map(({ state }) => state);
    const loss = tf.losses.sigmoidCrossEntropy(
      tf.tensor2d(labels),
      logitsOf(states),
      undefined,
      0,
      tf.Reduction.NONE,
    );
    return accelerator.weighLoss(tf.mean(tf.mul(loss, tf.tensor2d(advantages))).asScalar(), moves.length);
  });
}

/** The mean and the standard deviation of the numbers of all processes. */
function statisticsOf(numbers: readonly number[]): { mean: number; deviation: number } {
  const all = accelerator.gatherObject(numbers);
  const meanOf = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length;
  const mean = meanOf(all);
  return { mean, deviation: Math.sqrt(meanOf(all.map((x) => (x - mean) ** 2))) + 1e-8 };
}
