// Ranks of one pipeline are given different batches. Returns the code of each error.
import * as tf from '@tensorflow/tfjs';
import type { Collective, Plugin } from '@acc/contract';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { meanSquares } from './models.js';

type Found = Record<string, string>;
type Sent = readonly [calls: number, bytes: number];

const saying = (error: unknown): string => {
  const { code, details } = error as { code?: string; details?: { what?: string } };
  return `${code ?? String(error)} ${details?.what}`;
};

function refused(found: Found, name: string, act: () => unknown): void {
  try {
    act();
    found[name] = 'none';
  } catch (error) {
    found[name] = saying(error);
  }
}

/** Values of a seed, as a data set would give them. */
const xs = (seed: number, rows = 8) => tf.randomNormal([rows, 3], 0, 1, 'float32', seed);
const ys = (seed: number, rows = 8) => tf.randomNormal([rows, 1], 0, 1, 'float32', seed);

function refuseSteps(accelerator: Accelerator, model: tf.LayersModel): Found {
  const rank = accelerator.processIndex;
  const step = accelerator.pipelined(model, meanSquares);
  const compiled = accelerator.compile(step);
  const found: Found = {};
  refused(found, 'rows', () => step(xs(1, 8 - 4 * rank), ys(2, 8 - 4 * rank)));
  refused(found, 'inputs', () => step(xs(1 + rank), ys(2)));
  refused(found, 'labels', () => step(xs(1), ys(2 + rank)));
  refused(found, 'a compiled step', () => compiled(xs(1 + rank), ys(2)));
  refused(found, 'same', () => step(xs(1), ys(2)));
  refused(found, 'another size', () => step(xs(1 + rank, 16), ys(2, 16)));
  refused(found, 'the same of another size', () => step(xs(1, 16), ys(2, 16)));
  refused(found, 'new rows on one rank', () => step(xs(1, 8 + 4 * rank), ys(2, 8 + 4 * rank)));
  refused(found, 'known rows that differ', () => step(xs(1, 8 + 8 * rank), ys(2, 8 + 8 * rank)));
  for (let call = 0; call < 5; call++) compiled(xs(1), ys(2));
  if (compiled.replays === 0) throw new Error(compiled.reason);
  refused(found, 'new rows in replays', () => compiled(xs(1, 8 + 4 * rank), ys(2, 8 + 4 * rank)));
  refused(found, 'after that', () => compiled(xs(1), ys(2)));
  return found;
}

export default async function otherBatches(): Promise<Found> {
  let pipe!: Collective;
  const asks: Plugin = { name: 'asks', attach: ({ mesh }) => void (pipe = mesh.along('pipeline')) };
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 }, plugins: [asks] });
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 4, inputShape: [3] }), tf.layers.dense({ units: 1 })],
  });
  const optimizer = tf.train.sgd(0.01);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const found = refuseSteps(accelerator, model);
  try {
    const x = xs(1 + accelerator.processIndex, 12);
    await model.fit(x, ys(2, 12), { epochs: 1, batchSize: 12, verbose: 0 });
    found['fit'] = 'none';
  } catch (error) {
    found['fit'] = saying(error);
  }

  // The shapes of the batch are known. Those of the micro-batches are new.
  const inFours = accelerator.pipelined(model, meanSquares, { microBatches: 4 });
  /** The traffic of this rank in a step. */
  const sent = (): Sent => {
    const before = pipe.traffic!;
    inFours(xs(1), ys(2)).dispose();
    const after = pipe.traffic!;
    return [after.calls - before.calls, after.bytes - before.bytes];
  };
  const [first, second, third] = [sent(), sent(), sent()];
  found['more in the first step'] = String(first.map((count, i) => count - second[i]!));
  found['more in the second step'] = String(second.map((count, i) => count - third[i]!));
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return found;
}
