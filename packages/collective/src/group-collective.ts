import type { DataType, Tensor } from '@tensorflow/tfjs-core';
import {
  AccError,
  type AllReduceOptions,
  type Collective,
  type Pending,
  type ReduceOp,
  type TensorBridge,
} from '@acc/contract';
import { operator, tensorFrom, type ProcessGroup, type Tensor as NativeTensor } from '@acc/native';
import { decodeDescription, encodeDescription, requireAgreement, type CallDescription } from './agreement.js';
import { objectFromBytes, objectToBytes } from './object-bytes.js';
import { done, WorkResult } from './pending.js';

const cloneNative = operator('aten::clone');
const newEmpty = operator('aten::new_empty');
const divideScalar = operator('aten::div.Scalar');
const narrow = operator('aten::narrow');
const cat = operator('aten::cat');
const padEnd = operator('aten::constant_pad_nd');
const reshape = operator('aten::reshape');

export interface GroupCollectiveOptions {
  readonly group: ProcessGroup;
  readonly bridge: TensorBridge;
  /** The engine that moves the bytes, for `acc env` and messages. */
  readonly engine: string;
  /** Called once by `close`. */
  readonly onClose?: () => void;
}

/** Collectives over tfjs tensors, on a native process group. */
export class GroupCollective implements Collective {
  readonly rank: number;
  readonly size: number;
  readonly engine: string;
  readonly #group: ProcessGroup;
  readonly #bridge: TensorBridge;
  readonly #onClose: (() => void) | undefined;
  #isClosed = false;

  constructor({ group, bridge, engine, onClose }: GroupCollectiveOptions) {
    this.#group = group;
    this.#bridge = bridge;
    this.rank = group.rank;
    this.size = group.size;
    this.engine = engine;
    this.#onClose = onClose;
  }

  broadcast(x: Tensor, fromRank = 0): Tensor {
    return this.broadcastAsync(x, fromRank).wait();
  }

  broadcastAsync(x: Tensor, fromRank = 0): Pending<Tensor> {
    this.#requireRank(fromRank);
    this.#agree({ ...described('broadcast', x), fromRank });
    const buffer = this.#ownCopy(x);
    return this.#result(this.#group.broadcast(buffer, fromRank), buffer, x.dtype);
  }

  allReduce(x: Tensor, op: ReduceOp = 'sum'): Tensor {
    return this.allReduceAsync(x, op).wait();
  }

  allReduceAsync(x: Tensor, op: ReduceOp = 'sum', options: AllReduceOptions = {}): Pending<Tensor> {
    requireReducible(x, op);
    if (!options.agreed) this.#agree({ ...described('allReduce', x), op });
    const buffer = options.donate ? this.#bridge.toNative(x) : this.#ownCopy(x);
    const work = this.#group.allReduce(buffer as NativeTensor, op === 'mean' ? 'sum' : op);
    return new WorkResult(work, () => {
      if (options.donate) x.dispose();
      return this.#bridge.fromNative(this.#averaged(buffer as NativeTensor, op), x.dtype);
    });
  }

  allGather(x: Tensor): Tensor {
    return this.allGatherAsync(x).wait();
  }

  allGatherAsync(x: Tensor): Pending<Tensor> {
    const shape = x.rank === 0 ? [1] : x.shape;
    const calls = this.#agree({ ...described('allGather', x), shape });
    const rows = calls.map((call) => call.shape[0]!);
    const mostRows = Math.max(...rows);
    using local = this.#bridge.toNative(x) as NativeTensor;
    const input = padRows(local, shape, mostRows);
    const output = newEmpty(input, [this.size * mostRows, ...shape.slice(1)]);
    const work = input.shape.includes(0) ? done(undefined) : this.#group.allGather(input, output);
    return new WorkResult(work, () => {
      input.dispose();
      const joined = rows.every((n) => n === mostRows) ? output : withoutPadding(output, rows, mostRows);
      return this.#bridge.fromNative(joined, x.dtype);
    });
  }

  reduceScatter(x: Tensor, op: ReduceOp = 'sum'): Tensor {
    return this.reduceScatterAsync(x, op).wait();
  }

  reduceScatterAsync(x: Tensor, op: ReduceOp = 'sum'): Pending<Tensor> {
    requireReducible(x, op);
    const rows = x.shape[0];
    if (rows === undefined || rows % this.size !== 0) {
      throw new AccError(
        'ACC_COLLECTIVE_SHAPE',
        `reduceScatter cuts dim 0 into ${this.size} equal parts; a tensor of shape [${x.shape.join(',')}] came.`,
        { help: `Pad dim 0 to a multiple of ${this.size}.` },
      );
    }
    this.#agree({ ...described('reduceScatter', x), op });
    const input = this.#ownCopy(x);
    const output = newEmpty(input, [rows / this.size, ...x.shape.slice(1)]);
    const work = this.#group.reduceScatter(input, output, op === 'mean' ? 'sum' : op);
    return new WorkResult(work, () => {
      input.dispose();
      return this.#bridge.fromNative(this.#averaged(output, op), x.dtype);
    });
  }

  barrier(): void {
    this.#agree({ collective: 'barrier', dtype: 'bool', shape: [] });
  }

  broadcastObject<T>(object: T, fromRank = 0): T {
    this.#requireRank(fromRank);
    this.#agree({ collective: 'broadcastObject', dtype: 'bool', shape: [], fromRank });
    const bytes = this.rank === fromRank ? objectToBytes(object) : new Uint8Array();
    const length = this.#exchange(Int32Array.of(bytes.length))[fromRank]![0]!;
    using buffer = tensorFrom(this.rank === fromRank ? bytes : new Uint8Array(length), 'uint8', [length]);
    this.#group.broadcast(buffer, fromRank).wait();
    return objectFromBytes(buffer.read() as Uint8Array) as T;
  }

  allGatherObject<T>(object: T): T[] {
    const bytes = objectToBytes(object);
    this.#agree({ collective: 'allGatherObject', dtype: 'bool', shape: [] });
    const lengths = this.#exchange(Int32Array.of(bytes.length)).map((words) => words[0]!);
    const width = Math.max(...lengths);
    const padded = new Uint8Array(width);
    padded.set(bytes);
    using input = tensorFrom(padded, 'uint8', [width]);
    using output = newEmpty(input, [width * this.size]);
    this.#group.allGather(input, output).wait();
    const all = output.read() as Uint8Array;
    return lengths.map(
      (length, rank) => objectFromBytes(all.subarray(rank * width, rank * width + length)) as T,
    );
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose?.();
  }

  /** Compares this call with every other rank's before anything can block or mix. */
  #agree(call: CallDescription): readonly CallDescription[] {
    const calls = this.#exchange(encodeDescription(call)).map(decodeDescription);
    requireAgreement(calls);
    return calls;
  }

  /** Every rank's words, by rank. */
  #exchange(words: Int32Array): Int32Array[] {
    if (this.#isClosed) {
      throw new AccError('ACC_COLLECTIVE_CLOSED', 'A collective was called after the group had been closed.');
    }
    using input = tensorFrom(words, 'int32', [words.length]);
    using output = newEmpty(input, [words.length * this.size]);
    this.#group.allGather(input, output).wait();
    const all = output.read() as Int32Array;
    return Array.from({ length: this.size }, (_, rank) =>
      all.subarray(rank * words.length, (rank + 1) * words.length),
    );
  }

  #ownCopy(x: Tensor): NativeTensor {
    using shared = this.#bridge.toNative(x);
    return cloneNative(shared);
  }

  #averaged(sum: NativeTensor, op: ReduceOp): NativeTensor {
    if (op !== 'mean') return sum;
    const mean = divideScalar(sum, this.size);
    sum.dispose();
    return mean;
  }

  #result(work: { isDone: boolean; wait(): void }, buffer: NativeTensor, dtype: DataType): Pending<Tensor> {
    return new WorkResult(work, () => this.#bridge.fromNative(buffer, dtype));
  }

  #requireRank(rank: number): void {
    if (Number.isInteger(rank) && rank >= 0 && rank < this.size) return;
    throw new AccError('ACC_COLLECTIVE_RANK', `There is no rank ${rank}.`, {
      help: `Ranks are 0 to ${this.size - 1}.`,
    });
  }
}

function described(collective: CallDescription['collective'], x: Tensor): CallDescription {
  if (x.dtype === 'string') {
    throw new AccError('ACC_COLLECTIVE_DTYPE', `${collective} cannot move a tensor of strings.`, {
      help: 'Use gatherObject or broadcastObject with an array of strings.',
    });
  }
  return { collective, dtype: x.dtype, shape: x.shape };
}

function requireReducible(x: Tensor, op: ReduceOp): void {
  const isReducible = x.dtype === 'float32' || (x.dtype === 'int32' && op !== 'mean');
  if (isReducible) return;
  throw new AccError('ACC_COLLECTIVE_DTYPE', `A tensor of dtype ${x.dtype} cannot be reduced by '${op}'.`, {
    help: 'Convert it first, as x.toFloat().',
  });
}

/** `x` as `[rows, …]`, zeros below. The caller disposes it. */
function padRows(x: NativeTensor, shape: readonly number[], rows: number): NativeTensor {
  const missing = rows - shape[0]!;
  using shaped = reshape(x, shape);
  // Padding is given from the last dim to the first.
  return missing === 0
    ? shaped.alias()
    : padEnd(shaped, [...shape.slice(1).flatMap(() => [0, 0]), 0, missing]);
}

/** Joins the parts of `padded` that are real and disposes it. */
function withoutPadding(padded: NativeTensor, rows: readonly number[], mostRows: number): NativeTensor {
  const parts = rows.map((count, rank) => narrow(padded, 0, rank * mostRows, count));
  const joined = cat(parts, 0);
  for (const part of [...parts, padded]) part.dispose();
  return joined;
}
