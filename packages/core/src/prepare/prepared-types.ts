import type { Tensor, Variable } from '@tensorflow/tfjs-core';

interface DatasetLike<Batch> {
  iterator(): Promise<{ next(): Promise<IteratorResult<Batch>> }>;
}

type Columns = readonly Tensor[] | Readonly<Record<string, Tensor>>;

/** The type that `prepare` gives for an object: the object's own, data aside, which becomes async-iterable. */
export type Prepared<T> =
  T extends DatasetLike<infer Batch>
    ? T & AsyncIterable<Batch>
    : T extends readonly Variable[]
      ? T
      : T extends Tensor
        ? AsyncIterable<T>
        : T extends Columns
          ? AsyncIterable<T>
          : T extends readonly (infer Batch extends Columns)[]
            ? AsyncIterable<Batch>
            : T;

/** One object for one, a tuple in the same order for several. */
export type PreparedAll<T extends readonly unknown[]> = T extends readonly [infer One]
  ? Prepared<One>
  : { -readonly [K in keyof T]: Prepared<T[K]> };
