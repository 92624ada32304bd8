import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { resultsOfRanks } from '@acc/testkit';
import { expectNear, rms } from '../transformer/compare.js';
import { newFolder } from '../transformer/reference.js';
import { train, type Case, type Trained } from './train.js';

const folder = newFolder();
const script = new URL('./ranks/train.ts', import.meta.url);
it('probe', async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  const base: Case = JSON.parse(process.env['BASE']!);
  const cases = JSON.parse(process.env['CASES']!) as Record<string, Case>;
  const expected = await train(base, folder);
  const args = [JSON.stringify(Object.values(cases)), folder];
  const all = await resultsOfRanks<Trained[]>({ script, ranks: Number(process.env['N']), args, env: { OMP_NUM_THREADS: '1' }, timeoutMs: 200_000 });
  Object.keys(cases).forEach((name, i) => {
    all.forEach((ofRank, rank) => {
      const each = ofRank[i]!;
      let worst = 0;
      each.losses.forEach((loss, k) => (worst = Math.max(worst, Math.abs(loss - expected.losses[k]!) / Math.abs(expected.losses[k]!))));
      const size = Math.max(...Object.values(expected.weights).map((values) => rms(values)));
      let ww = 0;
      for (const [n, values] of Object.entries(expected.weights)) values.forEach((v, k) => (ww = Math.max(ww, Math.abs(each.weights[n]![k]! - v) / size)));
      let rd = 0;
      for (const [n, values] of Object.entries(each.weights)) values.forEach((v, k) => (rd = Math.max(rd, Math.abs(each.read[n]![k]! - v))));
      console.log(name, 'rank', rank, 'loss', worst, 'weights', ww, 'read', rd, 'left', each.left, each.losses.length);
    });
  });
}, 300_000);
