import type { DataType } from '@tensorflow/tfjs-core';
import { type StoredWeight } from '@acc/checkpoint';
import type { StateLayer } from '@acc/contract';
import { invalidPacked } from './errors.js';

/** The tensors of one weight, by the ends of their names. */
export class Parts {
  readonly #found = new Map<string, StoredWeight>();

  /** @param prefix What the names begin with. */
  constructor(readonly prefix: string) {}

  set(end: string, part: StoredWeight): void {
    this.#found.set(end, part);
  }

  has(end: string): boolean {
    return this.#found.has(end);
  }

  /** @throws AccError `ACC_PACKED_WEIGHTS_INVALID` if it is missing, or has another rank. */
  get(end: string, rank?: number): StoredWeight {
    const part = this.#found.get(end);
    const name = this.prefix + end;
    if (!part) throw invalidPacked(name, 'is missing');
    if (rank !== undefined && part.shape.length !== rank) {
      throw invalidPacked(name, `has the shape [${part.shape.join()}]; expected ${rank} dims`);
    }
    return part;
  }

  /** @throws AccError `ACC_PACKED_WEIGHTS_INVALID` unless the tensor is there, in this shape. */
  require(end: string, shape: readonly number[]): void {
    const part = this.get(end);
    if (part.shape.join() === shape.join()) return;
    throw invalidPacked(
      this.prefix + end,
      `has the shape [${part.shape.join()}]; expected [${shape.join()}]`,
    );
  }

  /** Numbers of up to 32 bits. @throws AccError `ACC_PACKED_WEIGHTS_INVALID` for other elements. */
  async wholes(end: string, layer: StateLayer): Promise<Int32Array> {
    return (await this.#values(end, 'int32', layer)) as Int32Array;
  }

  /** Numbers of float types, as float32. @throws AccError `ACC_PACKED_WEIGHTS_INVALID` for other elements. */
  async floats(end: string, layer: StateLayer): Promise<Float32Array> {
    return (await this.#values(end, 'float32', layer)) as Float32Array;
  }

  /** Numbers of any type. */
  numbers(end: string, layer: StateLayer): Promise<ArrayLike<number>> {
    return this.#values(end, this.get(end).dtype, layer);
  }

  async #values(end: string, expected: DataType, layer: StateLayer): Promise<ArrayLike<number>> {
    const part = this.get(end);
    if (part.dtype !== expected) {
      const kind = expected === 'int32' ? 'whole numbers' : 'float numbers';
      throw invalidPacked(this.prefix + end, `has elements of the type ${part.dtype}; expected ${kind}`);
    }
    const tensor = await part.read(layer);
    try {
      return await tensor.data();
    } finally {
      tensor.dispose();
    }
  }
}

/** A weight in several tensors. */
export interface PackedWeight {
  readonly shape: readonly [rows: number, columns: number];
  /** Writes the values, row by row. */
  fill(values: Float32Array, layer: StateLayer): Promise<void>;
}

/** How a tool stores weights. */
export interface Packing {
  /** The end of the name by which a packed weight is known. */
  readonly marker: string;
  /** The ends of the names of all its tensors. */
  readonly ends: readonly string[];
  /** @throws AccError `ACC_PACKED_WEIGHTS_INVALID` for shapes that do not fit. */
  open(parts: Parts, layer: StateLayer): Promise<PackedWeight> | PackedWeight;
}

/** Whole numbers from 0 of `bits` bits, the first in the lowest bits of a word. */
export const numberIn = (word: number, place: number, bits: number): number =>
  (word >>> (place * bits)) & ((1 << bits) - 1);
