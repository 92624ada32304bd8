import { concat, reshape, slice, tensor1d, tidy, util, zeros, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, KernelLayer, NativeDtype, Pending } from '@acc/contract';

/** Ranks that compute the same stages together, so that each has all values between stages. */
export interface SameValues {
  /** The group of these ranks. */
  readonly line: Collective;
  readonly kernels: Pick<KernelLayer, 'toNative' | 'fromNative' | 'precision'>;
}

/** Where a message goes, and the slot of messages like it. */
export interface Address {
  readonly pipe: Collective;
  readonly to: number;
  readonly slot: string;
}

/** A message with fewer elements takes as long whole. */
const SMALLEST = 256;

/** The messages of a slot. */
interface Form {
  readonly shape: number[];
  readonly dtype: Tensor['dtype'];
  readonly native: NativeDtype | undefined;
  /** The number of elements that one rank sends. Undefined: all. */
  readonly part: number | undefined;
}

/**
 * Sends a part of each value from each rank of a line to the same place in the next stage, where the
 * line gathers it. The first message of a slot is whole, so that both sides know the shape.
 *
 * Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
 * Megatron-LM" (2021), section 4.1.
 */
export class Scatter {
  readonly #ranks: SameValues;
  readonly #sent = new Map<string, Form>();
  readonly #posted = new Set<string>();
  readonly #received = new Map<string, Form>();

  constructor(ranks: SameValues) {
    this.#ranks = ranks;
  }

  /** Starts to send this rank's part of a tensor, or of zeros of its shape. The tensor keeps its owner. */
  send({ pipe, to, slot }: Address, tensor: Tensor, isZeros: boolean): Pending<void> {
    const known = this.#sent.get(slot);
    if (!known) {
      const pending = pipe.sendAsync(tensor, to, { slot, isZeros });
      this.#sent.set(slot, this.#formOf(tensor));
      return pending;
    }
    // The slot of the first message refuses another shape.
    if (!isZeros && !isLike(tensor, known)) return pipe.sendAsync(tensor, to, { slot });
    const { part } = known;
    const options = { slot: laterSlot(slot), isZeros };
    if (part === undefined && !isZeros) return pipe.sendAsync(tensor, to, options);
    const local = isZeros ? this.#zerosOf(known) : this.#partOf(tensor, part!);
    try {
      return pipe.sendAsync(local, to, options);
    } finally {
      local.dispose();
    }
  }

  /** The slot of the next receive. Receives are posted in the order in which messages are sent. */
  slotOfNext(slot: string): string {
    if (this.#posted.has(slot)) return laterSlot(slot);
    this.#posted.add(slot);
    return slot;
  }

  /**
   * The whole tensor of a received message, which it takes over. All ranks of the line call it, for the
   * same messages in the same order.
   */
  join(slot: string, received: Tensor): Tensor {
    const known = this.#received.get(slot);
    if (!known) {
      const form = this.#formOf(received);
      // A rank whose sender has failed got one number. Then no rank gathers later parts.
      const isSame = this.#isSameOnAll(form.part ?? 0);
      this.#received.set(slot, isSame ? form : { ...form, part: undefined });
      return received;
    }
    if (known.part === undefined) return received;
    try {
      return tidy(() => {
        const gathered = this.#ranks.line.allGather(received, { even: true, agreed: true });
        return reshape(slice(gathered, 0, util.sizeFromShape(known.shape)), known.shape.slice());
      });
    } finally {
      received.dispose();
    }
  }

  #formOf(tensor: Tensor): Form {
    const { shape, dtype, size } = tensor;
    const isDivided = size >= SMALLEST && (dtype === 'float32' || dtype === 'int32');
    const native = this.#ranks.kernels.precision?.dtypeOf(tensor);
    const part = isDivided ? Math.ceil(size / this.#ranks.line.size) : undefined;
    return { shape: shape.slice(), dtype, native, part };
  }

  #partOf(tensor: Tensor, part: number): Tensor {
    const { line, kernels } = this.#ranks;
    return tidy(() => {
      // A tensor of which this rank has a shard becomes whole.
      const full = kernels.fromNative(kernels.toNative(tensor), tensor.dtype);
      const flat = reshape(full, [-1]);
      const missing = part * line.size - flat.size;
      // Elements of the start have the element type that those of the end need.
      const even = missing > 0 ? concat([flat, slice(flat, 0, missing)]) : flat;
      return slice(even, line.rank * part, part);
    });
  }

  /** Zeros that the line can gather together with the parts of other ranks. */
  #zerosOf({ dtype, native, part, shape }: Form): Tensor {
    const { precision } = this.#ranks.kernels;
    const created = zeros(part === undefined ? shape : [part], dtype);
    if (dtype !== 'float32' || native === undefined || !precision) return created;
    const cast = precision.cast(created, native);
    created.dispose();
    return cast;
  }

  #isSameOnAll(part: number): boolean {
    const local = tensor1d([part], 'int32');
    const all = this.#ranks.line.allGather(local, { even: true, agreed: true });
    const isSame = all.dataSync().every((other) => other === part);
    local.dispose();
    all.dispose();
    return isSame;
  }
}

/** The slot of all messages but the first. */
const laterSlot = (slot: string): string => `${slot}, later`;

function isLike(tensor: Tensor, { shape, dtype }: Form): boolean {
  return tensor.dtype === dtype && util.arraysEqual(tensor.shape, shape);
}
