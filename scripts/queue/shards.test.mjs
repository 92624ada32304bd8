import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shardsOf } from './shards.mjs';

const computing = (seconds) => ({ processorSeconds: seconds, seconds });
const divide = (costs) => shardsOf(Object.keys(costs), (file) => costs[file]).map(({ files }) => files);

it('divides files into shards of about a minute, neighbours together', () => {
  const costs = Object.fromEntries(['a', 'b', 'c', 'd'].map((file) => [file, computing(30)]));
  expect(divide(costs)).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

it('a long file is a shard of its own', () => {
  expect(divide({ a: computing(1), long: computing(300), b: computing(1) })).toContainEqual(['long']);
});

it('files that wait have longer shards of their own', () => {
  const waiting = { processorSeconds: 5, seconds: 50 };
  expect(divide({ a: waiting, b: computing(50), c: waiting, d: waiting })).toEqual([['a', 'c', 'd'], ['b']]);
});

it('has no shards for no files', () => {
  expect(divide({})).toEqual([]);
});

it('every file is in one shard, in order, and no shard is much longer than its longest file and a minute', () => {
  const seconds = fc.array(fc.double({ min: 0.1, max: 200, noNaN: true }), { maxLength: 60 });
  fc.assert(
    fc.property(seconds, (all) => {
      const files = all.map((_, index) => String(index));
      const shards = shardsOf(files, (file) => computing(all[file]));
      expect(shards.flatMap((shard) => shard.files)).toEqual(files);
      for (const shard of shards) {
        const longest = Math.max(...shard.files.map((file) => all[file]));
        expect(shard.seconds).toBeLessThanOrEqual(60 + longest);
      }
    }),
  );
});
