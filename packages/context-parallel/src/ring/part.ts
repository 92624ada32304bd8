import { pad, slice, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionBlock } from '@acc/contract';

/** The part of a block that is computed: later queries, and earlier keys. The others see nothing. */
export interface Part {
  /** The first query. */
  readonly fromQuery: number;
  /** The number of keys. */
  readonly keys: number;
}

/** Below all logarithms of sums of queries that see a key. */
const UNSEEN = -1e30;

/** A view. */
export const queriesOf = (x: Tensor, { fromQuery }: Part): Tensor => alongLength(x, fromQuery, -1);

/** A view. */
export const keysOf = (x: Tensor, { keys }: Part): Tensor => alongLength(x, 0, keys);

function alongLength(x: Tensor, from: number, count: number): Tensor {
  const [begin, size] = [new Array<number>(x.rank).fill(0), new Array<number>(x.rank).fill(-1)];
  begin[2] = from;
  size[2] = count;
  return slice(x, begin, size);
}

/** The gradient of {@link queriesOf}. */
export const withQueries = (x: Tensor, { fromQuery }: Part): Tensor => padded(x, [fromQuery, 0], 0);

/** The gradient of {@link keysOf} for `length` keys. */
export const withKeys = (x: Tensor, length: number): Tensor => padded(x, [0, length - x.shape[2]!], 0);

/** The block with the queries before, which see no key. Disposes the given one. */
export function withQueriesBefore(block: AttentionBlock, { fromQuery }: Part): AttentionBlock {
  if (fromQuery === 0) return block;
  const output = padded(block.output, [fromQuery, 0], 0);
  const logSums = padded(block.logSums, [fromQuery, 0], UNSEEN);
  block.output.dispose();
  block.logSums.dispose();
  return { ...block, output, logSums };
}

/** Pads dim 2. */
function padded(x: Tensor, ends: [number, number], value: number): Tensor {
  return tidy(() =>
    pad(
      x,
      x.shape.map((_, dim): [number, number] => (dim === 2 ? ends : [0, 0])),
      value,
    ),
  );
}
