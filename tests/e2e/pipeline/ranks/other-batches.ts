// Ranks of one pipeline are given different batches. Reports the code of each error.
import * as tf from '@tensorflow/tfjs';
import type { Collective, Plugin } from '@acc/contract';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { meanSquares } from './models.js';

let pipe!: Collective;
const asks: Plugin = { name: 'asks', attach: ({ mesh }) => void (pipe = mesh.along('pipeline')) };
const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 }, plugins: [asks] });
const rank = accelerator.processIndex;
const found: Record<string, string> = {};

const saying = (error: unknown): string => {
  const { code, details } = error as { code?: string; details?: { what?: string } };
  return `${code ?? String(error)} ${details?.what}`;
};

function refused(name: string, act: () => unknown): void {
  try {
    act();
    found[name] = 'none';
  } catch (error) {
    found[name] = saying(error);
  }
}

const made = () =>
  tf.sequential({
    layers: [tf.layers.dense({ units: 4, inputShape: [3] }), tf.layers.dense({ units: 1 })],
  });
const model = made();
const optimizer = tf.train.sgd(0.01);
model.compile({ optimizer, loss: 'meanSquaredError' });
accelerator.prepare(model);
const step = accelerator.pipelined(model, meanSquares);
const compiled = accelerator.compile(step);
/** Values of a seed, as a data set would give them. */
const xs = (seed: number, rows = 8) => tf.randomNormal([rows, 3], 0, 1, 'float32', seed);
const ys = (seed: number, rows = 8) => tf.randomNormal([rows, 1], 0, 1, 'float32', seed);

refused('rows', () => step(xs(1, 8 - 4 * rank), ys(2, 8 - 4 * rank)));
refused('inputs', () => step(xs(1 + rank), ys(2)));
refused('labels', () => step(xs(1), ys(2 + rank)));
refused('a compiled step', () => compiled(xs(1 + rank), ys(2)));
refused('same', () => step(xs(1), ys(2)));
refused('another size', () => step(xs(1 + rank, 16), ys(2, 16)));
refused('the same of another size', () => step(xs(1, 16), ys(2, 16)));
refused('new rows on one rank', () => step(xs(1, 8 + 4 * rank), ys(2, 8 + 4 * rank)));
refused('known rows that differ', () => step(xs(1, 8 + 8 * rank), ys(2, 8 + 8 * rank)));
for (let call = 0; call < 5; call++) compiled(xs(1), ys(2));
if (compiled.replays === 0) throw new Error(compiled.reason);
refused('new rows in replays', () => compiled(xs(1, 8 + 4 * rank), ys(2, 8 + 4 * rank)));
refused('after that', () => compiled(xs(1), ys(2)));
try {
  await model.fit(xs(1 + rank, 12), ys(2, 12), { epochs: 1, batchSize: 12, verbose: 0 });
  found['fit'] = 'none';
} catch (error) {
  found['fit'] = saying(error);
}
type Sent = readonly [calls: number, bytes: number];

// The shapes of the batch are known. Those of the micro-batches are new.
const inFours = accelerator.pipelined(model, meanSquares, { microBatches: 4 });
/** What this rank sends in a step. */
function sent(): Sent {
  const before = pipe.traffic!;
  inFours(xs(1), ys(2)).dispose();
  const after = pipe.traffic!;
  return [after.calls - before.calls, after.bytes - before.bytes];
}
const [first, second, third] = [sent(), sent(), sent()];
found['more in the first step'] = String(first.map((count, i) => count - second[i]!));
found['more in the second step'] = String(second.map((count, i) => count - third[i]!));
reportResult(found);
await accelerator.endTraining();
