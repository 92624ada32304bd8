import { PendingResult, type NativeTensor, type Pending } from '@acc/contract';
import { operator, tensorFrom, type Tensor as Native, type Work } from '@acc/native';
import { dtypeCode, dtypeOfCode, MAX_DIMS } from '../agreement.js';
import type { Context } from '../context.js';
import type { Movable } from '../tensors.js';

const newEmpty = operator('aten::new_empty');

/** Numbers in front of each message: label, native element type, how many dims, dims. */
const HEADER_LENGTH = 3 + MAX_DIMS;

export interface Header {
  /** What the tensor is to its user. */
  readonly dtype: string;
  readonly nativeDtype: string;
  readonly shape: readonly number[];
}

/** Of a rank that gives nothing. */
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

/** A tensor on its way to another rank, its header in front. */
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
 * A tensor that comes from another rank. What is to be received is known when its header is there, so that a message
 * begins when the one before it from that rank has come.
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

  /** What `body` throws is what `wait` throws. */
  #attempt(body: () => void): void {
    if (this.#result) return;
    try {
      this.context.calls.explained(this.#call, body);
    } catch (error) {
      this.#result = { error };
    }
  }

  /** Goes on as far as it can, and with `isWaiting` until the payload is on its way. */
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
    this.#native = newEmpty(this.#announced!, shape, nativeDtype);
    this.#announced!.dispose();
    this.#payload = this.context.group.receive(this.#native, this.fromRank);
  }
}
