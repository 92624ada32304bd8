import { AccError, PendingResult, type NativeDtype, type NativeTensor, type Pending } from '@acc/contract';
import { tensorOnHost, type Tensor as Native } from '@acc/native';
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

/**
 * The headers of the first message of each slot, by the other rank. Later messages of the slot have
 * no header.
 */
export class Slots {
  readonly #headers = new Map<string, Header>();

  /** The header of earlier messages of the slot. Undefined for the first, and without a slot. */
  of(rank: number, slot: string | undefined): Header | undefined {
    return slot === undefined ? undefined : this.#headers.get(`${rank} ${slot}`);
  }

  set(rank: number, slot: string | undefined, header: Header): void {
    if (slot !== undefined) this.#headers.set(`${rank} ${slot}`, header);
  }
}

export interface Outgoing {
  readonly native: NativeTensor;
  readonly dtype: string;
  readonly toRank: number;
  readonly slot: string | undefined;
}

/**
 * Sends a tensor to another rank, preceded by its header.
 *
 * @throws AccError `ACC_COLLECTIVE_SHAPE` if earlier messages of the slot had another shape or dtype.
 */
export function sendMessage(
  { group, calls }: Context<Movable>,
  { native, dtype, toRank, slot }: Outgoing,
  slots: Slots,
): Pending<void> {
  const local: Header = { dtype, nativeDtype: native.dtype, shape: native.shape };
  const header = encodeHeader(local);
  const known = slots.of(toRank, slot);
  if (known) {
    if (encodeHeader(known).join() !== header.join()) throw slotDiffers(slot!, known, local);
    const work = group.send(native, toRank);
    return new PendingResult([work], () => work.wait());
  }
  slots.set(toRank, slot, local);
  calls.noteHeader(Int32Array.BYTES_PER_ELEMENT * header.length);
  using announced = tensorOnHost(Int32Array.from(header), 'int32', [HEADER_LENGTH]);
  const works = [group.send(announced, toRank), group.send(native, toRank)];
  return new PendingResult(works, () => works.forEach((work) => work.wait()));
}

function slotDiffers(slot: string, known: Header, local: Header): AccError {
  const described = ({ dtype, nativeDtype, shape }: Header) =>
    `${dtype}[${shape.join()}]${nativeDtype === dtype ? '' : ` as ${nativeDtype}`}`;
  return new AccError(
    'ACC_COLLECTIVE_SHAPE',
    `send: the messages of the slot '${slot}' are ${described(known)}, but this one is ${described(local)}.`,
    { help: 'Use another slot for tensors of another shape.', details: { slot, known, own: local } },
  );
}

/** The slot of a message, if it has one, and the slots of earlier messages. */
export interface MessageKind {
  readonly slots: Slots;
  readonly slot: string | undefined;
}

/**
 * A tensor that is received from another rank. Unless its slot is known, its size is known only
 * after its header arrives. A message starts after the previous one from the same rank: if that has
 * a header, after it is complete.
 */
export class Incoming<T extends Movable> implements Pending<T> {
  #header: Pending<void> | undefined;
  #payload: Pending<void> | undefined;
  #announced: Native | undefined;
  #native: Native | undefined;
  #dtype = '';
  readonly #call: string;
  #result: { value: T } | { error: unknown } | undefined;

  constructor(
    private readonly context: Context<T>,
    private readonly fromRank: number,
    private previous: Incoming<T> | undefined,
    private readonly kind: MessageKind,
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
      this.#announced?.dispose();
      this.#native?.dispose();
    }
  }

  /**
   * Advances as far as possible without blocking. With `isWaiting`, blocks until the receive of the
   * payload has started.
   */
  #advance(isWaiting: boolean): void {
    if (this.#payload) return;
    if (this.previous && !this.#passPrevious(this.previous, isWaiting)) return;
    this.previous = undefined;
    const known = this.#header ? undefined : this.kind.slots.of(this.fromRank, this.kind.slot);
    if (known) return this.#receive(known);
    if (!this.#header) {
      this.#announced = tensorOnHost(new Int32Array(HEADER_LENGTH), 'int32', [HEADER_LENGTH]);
      this.#header = this.context.group.receive(this.#announced, this.fromRank);
    }
    if (!isWaiting && !this.#header.isDone) return;
    this.#header.wait();
    const header = decodeHeader(this.#announced!.read() as Int32Array);
    this.kind.slots.set(this.fromRank, this.kind.slot, header);
    this.#receive(header);
    this.#announced!.dispose();
  }

  /** Whether this message can start. */
  #passPrevious(previous: Incoming<T>, isWaiting: boolean): boolean {
    if (previous.#payload && this.kind.slots.of(this.fromRank, this.kind.slot)) return true;
    if (isWaiting) previous.wait();
    return previous.isDone;
  }

  #receive({ dtype, nativeDtype, shape }: Header): void {
    this.#dtype = dtype;
    const { context, fromRank } = this;
    this.#native = context.emptyOf(nativeDtype as NativeDtype, shape);
    this.#payload = context.group.receive(this.#native, fromRank);
  }
}
