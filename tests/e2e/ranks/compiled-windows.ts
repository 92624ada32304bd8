// Trains a small model in windows of micro-batches, by plain steps and by compiled ones. Returns the
// numbers of both.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type AcceleratorOptions } from '@acc/core';
import { liveTensors } from '@acc/native';

export interface Case {
  readonly options: AcceleratorOptions;
  /** Whether the compiled function calls `accumulate`. Default: it is called in a micro-batch. */
  readonly isInside?: boolean;
}

export interface Trained {
  /** Losses, norms, and weights after each window. */
  readonly numbers: readonly (number | undefined)[];
  readonly replays: number;
  readonly reason: string | undefined;
  /** The number of native tensors after each epoch, without those before the second one. */
  readonly left: readonly number[];
}

const EPOCHS = 6;

async function train({ options, isInside }: Case, isCompiled: boolean): Promise<Trained> {
  const accelerator = await Accelerator.create({ seed: 1, ...options });
  const random = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 1, 'float32', seed);
  const weights = [
    tf.variable(random([6, 8], 3), true, 'first'),
    tf.variable(random([8, 2], 4), true, 'second'),
    tf.variable(tf.zeros([2]), true, 'bias'),
  ];
  // 41 rows: the last of seven batches is smaller, and ranks have different numbers of its rows.
  const loader = new DataLoader(random([41, 6], 5), { batchSize: 6 });
  const [, optimizer, data] = accelerator.prepare(weights, tf.train.adam(0.05), loader);
  const loss = (x: tf.Tensor) =>
    tf
      .matMul(tf.matMul(x as tf.Tensor2D, weights[0] as tf.Tensor2D).tanh(), weights[1] as tf.Tensor2D)
      .add(weights[2]!)
      .square()
      .mean() as tf.Scalar;
  const minimize = (x: tf.Tensor) => optimizer.minimize(() => loss(x), true)!;
  const micro = isInside ? (x: tf.Tensor) => accelerator.accumulate(() => minimize(x)) : minimize;
  const compiled = accelerator.compile(micro, { fuse: 'exact' });
  const step = isCompiled ? compiled : micro;
  const numbers: (number | undefined)[] = [];
  const left: number[] = [];
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for await (const x of data) {
      const value = isInside ? step(x) : accelerator.accumulate(() => step(x));
      numbers.push(value.dataSync()[0], accelerator.gradientNorm);
      if (accelerator.syncGradients) for (const weight of weights) numbers.push(...(await weight.data()));
      tf.dispose([value, x]);
    }
    if (epoch > 1) left.push(liveTensors());
  }
  const { replays, reason } = compiled;
  accelerator.freeMemory();
  tf.disposeVariables();
  return { numbers, replays, reason, left: left.map((count) => count - left[0]!) };
}

export default async function compiledWindows(cases: readonly Case[]) {
  const results: { plain: Trained; compiled: Trained }[] = [];
  for (const given of cases) {
    results.push({ plain: await train(given, false), compiled: await train(given, true) });
  }
  return results;
}
