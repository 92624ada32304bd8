// Trains recurrent models whose units the ranks of the axis tensor share, by plain and by compiled steps.
import * as tf from '@tensorflow/tfjs';
import type { RankPlace } from '@acc/contract';
import { Accelerator, parallelize, setSeed } from '@acc/core';
import { seededRandom } from '@acc/testkit';
import { disposeMasks } from '../dispose-masks.js';

const [ROWS, LENGTH, WIDTH, UNITS, STEPS] = [8, 3, 4, 12, 20];

export interface Steps {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  readonly replays: number;
  readonly reason: string | undefined;
  readonly left: number;
}

export type Ways = Readonly<Record<'plain' | 'compiled', Steps>>;

const random = { kernelInitializer: 'glorotUniform', recurrentInitializer: 'glorotUniform' } as const;
const units = { units: UNITS, ...random };
const inputShape = [LENGTH, WIDTH];
const MODELS: Record<string, () => tf.layers.Layer[]> = {
  lstm: () => [tf.layers.lstm({ ...units, inputShape, returnSequences: true }), tf.layers.lstm(units)],
  gru: () => [tf.layers.gru({ ...units, inputShape, goBackwards: true })],
  simpleRNN: () => [tf.layers.simpleRNN({ ...units, inputShape })],
  'bidirectional lstm': () => [
    tf.layers.bidirectional({ layer: tf.layers.lstm(units) as tf.RNN, mergeMode: 'concat', inputShape }),
  ],
  'lstm with dropout': () => [tf.layers.lstm({ ...units, inputShape, dropout: 0.2, recurrentDropout: 0.3 })],
};

async function train(name: string, size: number, isCompiled: boolean): Promise<Steps> {
  const accelerator = await Accelerator.create({
    engine: 'acc',
    seed: 4,
    gradientClipping: { norm: 1 },
    ...(size > 1 && { mesh: { tensor: size } }),
  });
  const model = tf.sequential({ layers: [...MODELS[name]!(), tf.layers.dense({ units: 2 })] });
  const next = seededRandom(5);
  for (const weight of model.weights) {
    const { shape, size } = weight.read();
    const values = Array.from({ length: size }, () => next() - 0.5);
    tf.tidy(() => void weight.write(tf.tensor(values, shape)));
  }
  const [, optimizer] = accelerator.prepare(parallelize(model, 'auto'), tf.train.adam(0.01));
  setSeed(9);
  const plain = (x: tf.Tensor, y: tf.Tensor) =>
    optimizer.minimize(
      () => tf.losses.meanSquaredError(y, model.apply(x, { training: true }) as tf.Tensor) as tf.Scalar,
      true,
    )!;
  const compiled = isCompiled ? accelerator.compile(plain) : undefined;
  const step = compiled ?? plain;
  const losses: number[] = [];
  const left = new Set<number>();
  for (let i = 0; i < STEPS; i++) {
    const loss = tf.tidy(() => {
      const x = tf.sin(tf.add(tf.range(0, ROWS * LENGTH * WIDTH), 50 * i)).reshape([ROWS, LENGTH, WIDTH]);
      const y = tf.cos(tf.add(tf.range(0, ROWS * 2), 20 * i)).reshape([ROWS, 2]);
      return step(x, y).dataSync()[0]!;
    });
    losses.push(loss);
    if (i > 5) left.add(tf.memory().numTensors);
  }
  const dict = accelerator.getStateDict(model);
  const weights = Object.values(dict).map((each) => Array.from(each.dataSync()));
  accelerator.freeMemory();
  disposeMasks(model);
  tf.dispose(dict);
  tf.disposeVariables();
  return { losses, weights, replays: compiled?.replays ?? 0, reason: compiled?.reason, left: left.size };
}

export default async function compiledRecurrent(
  _: unknown,
  { size }: RankPlace,
): Promise<Record<string, Ways>> {
  const report: Record<string, Ways> = {};
  for (const name of Object.keys(MODELS)) {
    report[name] = { plain: await train(name, size, false), compiled: await train(name, size, true) };
  }
  return report;
}
