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
 * Values that a checkpoint can hold: plain values as in JSON, typed arrays and tensors. Numbers may
 * be NaN or infinite. An undefined value in a record counts as absent.
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
 * An object whose state a checkpoint keeps. `getState` returns a {@link StateTree} or a promise of
 * one. Its tensors keep their owner. When a program resumes, `setState` receives the same tree. The
 * checkpoint owns the tensors in it and disposes them after the call, so keep clones.
 */
export interface Stateful {
  getState(): unknown;
  setState(state: never): unknown;
}

/** A state that ranks partly share. */
export interface RankState {
  /** The same on every rank. */
  readonly shared: StateTree;
  /**
   * The state of this rank. In `setState` it is undefined on a rank that did not exist at the time
   * of the save.
   */
  readonly local: StateTree;
}
