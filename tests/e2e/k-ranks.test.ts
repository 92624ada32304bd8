import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

const root = join(import.meta.dirname, '..', '..');

/** The fenced `ts` examples of the page. */
const examples = Array.from(
  readFileSync(join(root, 'docs', 'when-k-ranks-equal-one.md'), 'utf8').matchAll(/^```ts\n(.*?)^```/gms),
  ([, code]) => code!,
);

/**
 * The shared code: two batches of 6 rows and one of 5, which two and three ranks divide unevenly.
 */
const BEFORE = `
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const accelerator = await Accelerator.create({ dataLoader: { splitBatches: true } });
const xsAll = tf.sin(tf.range(0, 51)).reshape([17, 3]);
const ysAll = tf.cos(tf.range(0, 34).mul(0.7)).reshape([17, 2]);
const batches = [0, 6, 12].map((start) => {
  const rows = Math.min(6, 17 - start);
  return { xs: xsAll.slice(start, rows), ys: ysAll.slice(start, rows) };
});
const all: number[][] = [];
const start = () => {
  const kernelInitializer = tf.initializers.glorotNormal({ seed: 4 });
  const built = tf.sequential({
    layers: [tf.layers.dense({ units: 2, inputShape: [3], kernelInitializer, activation: 'tanh' })],
  });
  const [model, optimizer, data] = accelerator.prepare(built, tf.train.sgd(0.1), batches);
  return { model, optimizer, data, end: () => all.push(model.getWeights().flatMap((w) => [...w.dataSync()])) };
};
`;

const script = `${BEFORE}${examples.map((code) => `{\nconst { model, optimizer, data, end } = start();\n${code}end();\n}\n`).join('')}
reportResult(all);
await accelerator.endTraining();
`;

it('the examples of docs/when-k-ranks-equal-one.md train to the same weights on 1, 2 and 3 ranks, without a warning', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-k-ranks-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, 'train.mts');
  writeFileSync(path, script);
  let alone: number[][] | undefined;
  const scores: number[] = [];
  for (const size of [1, 2, 3]) {
    const ranks = await runRanks<number[][]>({ script: path, ranks: size, env: { OMP_NUM_THREADS: '1' } });
    for (const { exitCode, stdout, stderr, result } of ranks) {
      expect(exitCode, stdout + stderr).toBe(0);
      expect(stderr).not.toContain('acc:');
      scores.push(Number(/^F1 (.*)$/m.exec(stdout)![1]));
      alone ??= result!;
      expect(result).toHaveLength(examples.length);
      result!.forEach((weights, i) => expectClose(weights, alone![i]!, { rtol: 1e-5, atol: 1e-6 }));
    }
  }
  expectClose(scores, new Array<number>(6).fill(scores[0]!), { rtol: 1e-5 });
  expect(examples).toHaveLength(8);
  expect(new Set(alone!.map((weights) => weights.join())).size).toBe(8);
});
