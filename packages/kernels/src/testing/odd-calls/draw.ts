import * as tf from '@tensorflow/tfjs-core';

/** A tensor that is not made yet. */
export class Blueprint {
  constructor(
    readonly values: readonly number[],
    readonly shape: readonly number[],
    readonly dtype: tf.DataType,
  ) {}

  make(): tf.Tensor {
    return tf.tensor(this.values as number[], this.shape as number[], this.dtype);
  }

  toString(): string {
    return `${this.dtype}[${this.shape.join()}](${this.values.slice(0, 8).join()})`;
  }
}

/** Draws arguments from a sequence of numbers that a seed defines. */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }

  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  of<T>(...choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)]!;
  }

  often<T>(usual: () => T, odd: () => T): T {
    return this.next() < 0.75 ? usual() : odd();
  }

  list<T>(length: number, make: (i: number) => T): T[] {
    return Array.from({ length }, (_, i) => make(i));
  }

  bool(): boolean {
    return this.next() < 0.5;
  }

  /** Mostly an integer from `least` to `most`. */
  near(least: number, most: number): number {
    return this.often(
      () => this.int(least, most),
      () => this.of(-3, -2, -1, 0, 1, 2, 3, 7, 1.5, -0.5, NaN),
    );
  }

  /** An integer around `least` to `most`. */
  nearInt(least: number, most: number): number {
    return this.often(
      () => this.int(least, most),
      () => this.of(-3, -1, 0, 4, 9),
    );
  }

  /** A list that mostly has `length` numbers. */
  nears(length: number, least: number, most: number): number[] {
    const size = this.next() < 0.9 ? length : Math.max(0, length + this.of(-1, 1));
    return this.list(size, () => this.near(least, most));
  }

  nearInts(length: number, least: number, most: number): number[] {
    const size = this.next() < 0.9 ? length : Math.max(0, length + this.of(-1, 1));
    return this.list(size, () => this.nearInt(least, most));
  }

  shape(rank: number, most = 4): number[] {
    return this.list(rank, () => (this.next() < 0.05 ? 0 : this.int(1, most)));
  }

  dtype(): tf.DataType {
    return this.of('float32', 'float32', 'float32', 'int32', 'bool');
  }

  tensor(shape = this.shape(this.int(0, 4)), dtype: tf.DataType = 'float32'): Blueprint {
    const one = (): number =>
      dtype === 'bool'
        ? this.int(0, 1)
        : dtype === 'int32'
          ? this.int(-4, 9)
          : this.often(
              () => Math.round(this.next() * 160 - 80) / 16,
              () => this.of(NaN, Infinity, -Infinity, 0, -0, 0.5, -1),
            );
    return new Blueprint(
      this.list(
        shape.reduce((a, b) => a * b, 1),
        one,
      ),
      shape,
      dtype,
    );
  }

  any(rank = this.int(0, 4)): Blueprint {
    return this.tensor(this.shape(rank), this.dtype());
  }

  finite(shape: number[]): Blueprint {
    const size = shape.reduce((a, b) => a * b, 1);
    return new Blueprint(
      this.list(size, () => this.int(-8, 8) / 4),
      shape,
      'float32',
    );
  }

  numbers(shape: number[], dtype: tf.DataType): Blueprint {
    return dtype === 'int32' ? this.tensor(shape, dtype) : this.finite(shape);
  }

  ints(shape: number[], least: number, most: number): Blueprint {
    const size = shape.reduce((a, b) => a * b, 1);
    return new Blueprint(
      this.list(size, () => this.nearInt(least, most)),
      shape,
      'int32',
    );
  }

  axis(rank: number): number {
    return this.near(-rank, rank - 1);
  }

  axes(rank: number): number | number[] | undefined {
    return this.of<() => number | number[] | undefined>(
      () => undefined,
      () => this.axis(rank),
      () => this.list(this.int(0, 3), () => this.axis(rank)),
    )();
  }

  pad(): number | string | number[][] {
    return this.often<number | string | number[][]>(
      () => this.of('same', 'valid'),
      () =>
        this.of<number | string | number[][]>(
          0,
          1,
          2,
          -1,
          1.5,
          'explicit',
          [
            [0, 0],
            [1, 2],
            [0, 1],
            [0, 0],
          ],
          [
            [0, 0],
            [1, 2],
          ],
        ),
    );
  }

  stride(): number | number[] {
    return this.often<number | number[]>(
      () => this.int(1, 3),
      () => this.of<number | number[]>(0, -1, 1.5, [1, 2], [2, 0], [1], [2, 1, 1]),
    );
  }

  /** Of windows. tfjs's cpu kernels never end for a stride of 0 and an empty image. */
  steps(): number | number[] {
    return this.often<number | number[]>(
      () => this.int(1, 3),
      () => this.of<number | number[]>(1.5, [1, 2], [1], [2, 1, 1]),
    );
  }

  rounding(): string | undefined {
    return this.of(undefined, undefined, 'floor', 'round', 'ceil');
  }
}

/** Draws the arguments of one call. */
export type Make = (draw: Draw) => readonly unknown[];
export type Any = (...args: never[]) => tf.Tensor | tf.Tensor[] | Record<string, tf.Tensor>;

/** Functions of tfjs, and their arguments. */
export type Makers = Readonly<Record<string, readonly [Any, Make]>>;
