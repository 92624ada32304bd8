import type { TensorShard } from './strategy.js';

/** Elements that are consecutive both in the box of a shard and in the variable that holds it. */
export interface ShardRun {
  /** The position of the first in the row-major elements of the box. */
  readonly inBox: number;
  /** Its position in those of the variable. */
  readonly inVariable: number;
  readonly length: number;
}

/** Divides `length` elements of a shard into runs, from the position `from` of its box on. */
export function* runsOfShard(
  { sizes, start, runs }: Pick<TensorShard, 'sizes' | 'start' | 'runs'>,
  from = 0,
  length = sizes.reduce((product, size) => product * size, 1),
): Generator<ShardRun, void, undefined> {
  const { count = 1, step = 0 } = runs ?? {};
  const each = sizes.reduce((product, size) => product * size, 1) / count;
  for (let inBox = from; inBox < from + length;) {
    const run = Math.floor(inBox / each);
    const end = Math.min((run + 1) * each, from + length);
    yield { inBox, inVariable: start + run * step + (inBox - run * each), length: end - inBox };
    inBox = end;
  }
}
