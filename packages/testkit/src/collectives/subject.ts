import type { CollectiveOf, NativeDtype } from '@acc/contract';

/** The values and form of a tensor. All numbers in the cases are exact in every element type. */
export interface Content {
  /** In row-major order. Booleans are 0 and 1. */
  readonly values: Float32Array;
  readonly shape: readonly number[];
  readonly dtype: NativeDtype;
}

/** One rank of the group under test, with functions to create and read its tensors. */
export interface CollectiveSubject<T> {
  readonly collective: CollectiveOf<T>;
  /** The element types of the tensors. */
  readonly dtypes: readonly NativeDtype[];
  make(content: Content): T;
  /**
   * The elements of `x` as a tensor of shape `[elements]`. It shares the memory of `x` if tensors
   * can share memory. The caller owns both.
   */
  view(x: T): T;
  read(x: T): Content;
  dispose(x: T): void;
}

/** A rule for every engine. All ranks run it. It throws if the rule is broken. */
export interface CollectiveCase {
  readonly name: string;
  /** The smallest number of ranks. Default 1. */
  readonly minRanks?: number;
  /** The largest number of ranks. More would need too much memory. */
  readonly maxRanks?: number;
  run<T>(subject: CollectiveSubject<T>): void;
}

export const FLOATS: readonly NativeDtype[] = ['float32', 'float64', 'bfloat16', 'float16'];

/**
 * Integers that depend on position and rank. They are small enough for seven ranks and any element
 * type.
 */
export function numbersOf(rank: number, shape: readonly number[], dtype: NativeDtype, scale = 1): Content {
  const size = shape.reduce((product, n) => product * n, 1);
  const values = new Float32Array(size);
  // The numbers recur after `period`. The part that is there is copied until all is, which is fast.
  const period = dtype === 'bool' ? 3 : 2;
  for (let i = 0; i < Math.min(period, size); i++) {
    values[i] = dtype === 'bool' ? Number((i + rank) % 3 === 0) : scale * (1 + ((i + 2 * rank) % 2));
  }
  for (let done = period; done < size; done *= 2) values.copyWithin(done, 0, done);
  return { values, shape, dtype };
}

/** The numbers of all arrays, one after the other. */
export function joinedValues(arrays: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(arrays.reduce((sum, values) => sum + values.length, 0));
  let at = 0;
  for (const values of arrays) {
    joined.set(values, at);
    at += values.length;
  }
  return joined;
}

/** The sums of the numbers of arrays of the same length. */
export function sumsOf(arrays: readonly Float32Array[]): Float32Array {
  const sums = arrays[0]!.slice();
  for (const values of arrays.slice(1)) {
    for (let i = 0; i < sums.length; i++) sums[i]! += values[i]!;
  }
  return sums;
}

/** Runs `body` on a tensor, and then disposes the tensor. */
export function withTensor<T, R>(subject: CollectiveSubject<T>, content: Content, body: (x: T) => R): R {
  const x = subject.make(content);
  try {
    return body(x);
  } finally {
    subject.dispose(x);
  }
}

/** Reads a result and disposes it. */
export function taken<T>(subject: CollectiveSubject<T>, x: T): Content {
  const content = subject.read(x);
  subject.dispose(x);
  return content;
}

/** @throws Error at the first difference. */
export function requireSame(actual: Content, expected: Content, what: string): void {
  const shapes = [actual.shape, expected.shape].map((shape) => `[${shape.join(',')}]`);
  if (shapes[0] !== shapes[1]) throw new Error(`${what}: shape ${shapes[0]}, expected ${shapes[1]}`);
  if (actual.dtype !== expected.dtype) {
    throw new Error(`${what}: dtype ${actual.dtype}, expected ${expected.dtype}`);
  }
  const at = firstDifference(actual.values, expected.values);
  if (at < 0) return;
  throw new Error(`${what}: element ${at} is ${actual.values[at]}, expected ${expected.values[at]}`);
}

/** The first place at which `actual` has another number than `expected`, or -1. */
function firstDifference(actual: Float32Array, expected: Float32Array): number {
  for (let i = 0; i < expected.length; i++) if (!Object.is(actual[i], expected[i])) return i;
  return -1;
}

/** @throws Error if `holds` is false. */
export function require(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}
