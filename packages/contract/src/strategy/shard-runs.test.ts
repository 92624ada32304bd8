import { expect, it } from 'vitest';
import { runsOfShard } from './shard-runs.js';

const shard = { sizes: [3, 2], start: 4, runs: { count: 3, step: 6 } };

it('a box without runs is one', () => {
  const { sizes, start } = shard;
  expect([...runsOfShard({ sizes, start })]).toEqual([{ inBox: 0, inVariable: 4, length: 6 }]);
});

it('gives all runs, or those of some elements', () => {
  const all = [0, 2, 4].map((inBox, i) => ({ inBox, inVariable: 4 + 6 * i, length: 2 }));
  expect([...runsOfShard(shard)]).toEqual(all);
  expect([...runsOfShard(shard, 1, 3)]).toEqual([{ inBox: 1, inVariable: 5, length: 1 }, all[1]]);
});

it('an empty box has none', () => {
  expect([...runsOfShard({ sizes: [3, 0], start: 0 })]).toEqual([]);
});
