import { PendingResult, type NativeDtype, type NativeTensor, type Pending } from '@acc/contract';
import { tensorFrom, type Tensor as Native, type Work } from '@acc/native';
import { dtypeCode, dtypeOfCode, MAX_DIMS } from '../agreement.js';
import type { Context } from '../context.js';
import type { Movable } from '../tensors.js';

/**
 * The number of int32 values before each message: dtype, native element type, number of dims, dims.
 */
const HEADER_LENGTH = 3 + MAX_DIMS;

export interface Header {
  /** The dtype of the tensor that the user sees. */
  readonly dtype: string;
  readonly nativeDtype: string;
  readonly shape: readonly number[];
}

/** The header of a rank that sends nothing. */
export const NO_HEADER: Header = { dtype: 'unknown', nativeDtype: 'unknown', shape: [] };

export function encodeHeader({ dtype, nativeDtype, shape }: Header): number[] {
  const dims = Array.from({ length: MAX_DIMS }, (_, i) => shape[i] ?? 0);
  return [dtypeCode(dtype), dtypeCode(nativeDtype), shape.length, ...dims];
}

export function decodeHeader(numbers: Int32Array): Header {
  return {
    dtype: dtypeOfCode(numbers[0]!),
    nativeDtype: dtypeOfCode(numbers[1]!),
    shape: [...numbers.subarray(3, 3 + numbers[2]!)],
  };
}

/** Sends a tensor to another rank, preceded by its header. */
export function sendMessage(
  { group }: Context<Movable>,
  native: NativeTensor,
  dtype: string,
  toRank: number,
): Pending<void> {
  const header = encodeHeader({ dtype, nativeDtype: native.dtype, shape: native.shape });
  using announced = tensorFrom(Int32Array.from(header), 'int32', [HEADER_LENGTH]);
  const works = [group.send(announced, toRank), group.send(native, toRank)];
  return new PendingResult(works, () => works.forEach((work) => work.wait()));
}

/**
 * A tensor that is received from another rank. Its size is known only after its header arrives.
 * Therefore a message starts after the previous message from the same rank is complete.
 */
export class Incoming<T extends Movable> implements Pending<T> {
  #header: Work | undefined;
  #payload: Work | undefined;
  #announced: Native | undefined;
  #native: Native | undefined;
  #dtype = '';
  readonly #call: string;
  #result: { value: T } | { error: unknown } | undefined;

  constructor(
    private readonly context: Context<T>,
    private readonly fromRank: number,
    private previous: Incoming<T> | undefined,
  ) {
    this.#call = `recv(rank ${fromRank})`;
    context.calls.noteMessage(this.#call);
    context.calls.explained(this.#call, () => this.#advance(false));
  }

  get isDone(): boolean {
    this.#attempt(() => this.#advance(false));
    return this.#result !== undefined || (this.#payload?.isDone ?? false);
  }

  wait(): T {
    this.#attempt(() => {
      this.#advance(true);
      this.#payload!.wait();
      this.#result = { value: this.context.bridge.fromNative(this.#native!, this.#dtype) };
    });
    if ('error' in this.#result!) throw this.#result.error;
    return this.#result!.value;
  }

  /** Runs `body` and keeps its error for `wait` to throw. */
  #attempt(body: () => void): void {
    if (this.#result) return;
    try {
      this.context.calls.explained(this.#call, body);
    } catch (error) {
      this.#result = { error };
    }
  }

  /**
   * Advances as far as possible without blocking. With `isWaiting`, blocks until the receive of the
   * payload has started.
   */
  #advance(isWaiting: boolean): void {
    if (this.#payload) return;
    if (this.previous) {
      if (isWaiting) this.previous.wait();
      else if (!this.previous.isDone) return;
      this.previous = undefined;
    }
    if (!this.#header) {
      this.#announced = tensorFrom(new Int32Array(HEADER_LENGTH), 'int32', [HEADER_LENGTH]);
      this.#header = this.context.group.receive(this.#announced, this.fromRank);
    }
    if (!isWaiting && !this.#header.isDone) return;
    this.#header.wait();
    const { dtype, nativeDtype, shape } = decodeHeader(this.#announced!.read() as Int32Array);
    this.#dtype = dtype;
    this.#native = this.context.empty(this.#announced!, shape, nativeDtype as NativeDtype);
    this.#announced!.dispose();
    this.#payload = this.context.group.receive(this.#native, this.fromRank);
  }
}
