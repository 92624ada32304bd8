import type { Tensor } from '@tensorflow/tfjs-core';

/** Typed arrays that a checkpoint can hold. */
export type StateArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/**
 * What a checkpoint can hold: plain values, as JSON has them, with typed arrays and tensors among them. Numbers may be NaN
 * and infinite; undefined in a record counts as absent.
 */
export type StateTree =
  | null
  | undefined
  | boolean
  | number
  | string
  | StateArray
  | Tensor
  | readonly StateTree[]
  | { readonly [key: string]: StateTree };

/**
 * Something that a checkpoint keeps. What `getState` gives is a {@link StateTree}, or a promise of one; tensors in it stay their
 * owner's. `setState` is given the same again, in a program that goes on; tensors then belong to the checkpoint and are
 * disposed after the call: keep clones.
 */
export interface Stateful {
  getState(): unknown;
  setState(state: never): unknown;
}

/** A state of which ranks have a part in common. */
export interface RankState {
  /** The same on every rank. */
  readonly shared: StateTree;
  /** This rank's own; undefined, in what `setState` is given, on a rank that did not exist when it was saved. */
  readonly local: StateTree;
}
