import type { Tensor, Variable } from '@tensorflow/tfjs-core';

interface DatasetLike<Batch> {
  iterator(): Promise<{ next(): Promise<IteratorResult<Batch>> }>;
}

/**
 * `T` if it is a list or an object that contains only tensors. The object may be of an interface
 * type.
 */
type Columns<T> = T extends readonly Tensor[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Tensor }
    : never;

/**
 * The return type of `prepare` for an object: the object's own type, except that data becomes
 * async-iterable.
 */
export type Prepared<T> =
  T extends DatasetLike<infer Batch>
    ? T & AsyncIterable<Batch>
    : T extends readonly Variable[]
      ? T
      : T extends Tensor
        ? AsyncIterable<T>
        : T extends readonly (infer Batch extends object)[]
          ? Batch extends Tensor
            ? AsyncIterable<T>
            : Batch extends Columns<Batch>
              ? AsyncIterable<Batch>
              : T
          : T extends Columns<T>
            ? AsyncIterable<T>
            : T;

/** A single type for one object, and a tuple in the same order for several. */
export type PreparedAll<T extends readonly unknown[]> = T extends readonly [infer One]
  ? Prepared<One>
  : { -readonly [K in keyof T]: Prepared<T[K]> };
