import type { Traffic } from '@acc/contract';
import type { CallDescription } from './agreement.js';

const BYTES: Readonly<Record<string, number>> = {
  float32: 4,
  int32: 4,
  bool: 1,
  complex64: 8,
  float64: 8,
  bfloat16: 2,
  float16: 2,
  int64: 8,
  int16: 2,
  int8: 1,
  uint8: 1,
};

/** The size of a tensor, in bytes. */
export function bytesOf(dtype: string, shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, BYTES[dtype] ?? 0);
}

/** Counts what a rank sends in a group. */
export class TrafficCounter {
  #calls = 0;
  #bytes = 0;

  constructor(
    private readonly rank: number,
    private readonly size: number,
  ) {}

  get total(): Traffic {
    return { calls: this.#calls, bytes: this.#bytes };
  }

  add(call: CallDescription): void {
    this.#calls++;
    this.#bytes += this.#bytesIn(call);
  }

  /** Counts a message to one rank. */
  addMessage(bytes: number): void {
    this.#calls++;
    this.#bytes += bytes;
  }

  /** Counts what describes a message to its receiver. */
  addHeader(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Ring algorithms, in which every rank sends to the next (Patarasuk and Yuan 2009). */
  #bytesIn({ collective, dtype, shape, root = 0, sentBytes }: CallDescription): number {
    const { rank, size } = this;
    if (sentBytes !== undefined) return sentBytes;
    if (dtype === undefined || shape === undefined) return 0;
    const bytes = bytesOf(dtype, shape);
    const others = ((size - 1) / size) * bytes;
    switch (collective) {
      case 'allReduce':
        return 2 * others;
      case 'reduceScatter':
      case 'allToAll':
        return others;
      case 'allGather':
        return (size - 1) * bytes;
      case 'broadcast':
        // The chain begins at the root, and its last rank sends nothing.
        return (rank + 1) % size === root ? 0 : bytes;
      case 'reduce':
      case 'gather':
        return rank === root ? 0 : bytes;
      default:
        return 0;
    }
  }
}
