import type { Tensor } from '@tensorflow/tfjs-core';
import type { IndexedDataset, NumberArray, ShapedArray } from '@acc/formats';
import type { Columns } from './columns.js';
import type { SampleStream } from './stream-source.js';

/** The datasets that a DataLoader accepts. */
export type LoaderDataset =
  | readonly unknown[]
  | NumberArray
  | Tensor
  | Columns
  | IndexedDataset<unknown>
  | SampleStream<unknown>
  | (() => SampleStream<unknown> | PromiseLike<SampleStream<unknown>>)
  // A record of tensors. TypeScript does not match interfaces with index signatures, so the type
  // cannot be more precise.
  | object;

/** A sample of a dataset, as the collate function receives it. */
export type SampleOf<D> = D extends readonly (infer S)[]
  ? S
  : D extends NumberArray
    ? number
    : D extends { get(i: number, draw: never): infer S }
      ? Awaited<S>
      : D extends SampleStream<infer S>
        ? Awaited<S>
        : D extends () => infer R
          ? SampleOf<Awaited<R>>
          : never;

/** The batch that default collation makes of samples. */
export type Collated<S> = S extends
  Tensor | NumberArray | ShapedArray | number | boolean | string | readonly number[]
  ? Tensor
  : S extends readonly unknown[]
    ? unknown
    : S extends object
      ? { [K in keyof S]: Collated<S[K]> }
      : unknown;

/** The batch of a dataset that is loaded without a collate function. */
export type BatchOf<D> = D extends Tensor
  ? Tensor
  : D extends Columns<infer T>
    ? T
    : [SampleOf<D>] extends [never]
      ? D
      : Collated<SampleOf<D>>;
