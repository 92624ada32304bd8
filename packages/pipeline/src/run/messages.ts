import { zeros, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Pending } from '@acc/contract';
import { rankOf, type Action, type Schedule } from '@acc/planner/schedules';
import type { StagePlan } from '../stages/plan.js';
import type { Scatter } from './scatter.js';

/** One tensor on its way between two stages. */
export interface Message {
  /** `forward`: a value. `backward`: its gradient. */
  readonly kind: 'forward' | 'backward';
  /** The stage that sends it. */
  readonly stage: number;
  readonly microBatch: number;
  /** The value. */
  readonly id: number;
}

const keyOf = ({ kind, stage, microBatch, id }: Message): string => `${kind} ${stage} ${id} ${microBatch}`;
/** Messages of one slot have one shape. */
const slotOf = ({ kind, stage, id }: Message, shapes: string): string => `${kind} ${stage} ${id} ${shapes}`;

/** The messages that an action sends, in order. */
function messagesOf({ kind, stage, microBatch }: Action, { stages }: StagePlan): Message[] {
  if (kind === 'weights') return [];
  const ids = kind === 'forward' ? stages[stage]!.sends : stages[stage]!.receives;
  return ids.map((id) => ({ kind, stage, microBatch, id }));
}

/** The rank that gets a message. */
function receiverOf({ kind, stage }: Message, ranks: number): number {
  return rankOf(kind === 'forward' ? stage + 1 : stage - 1, ranks);
}

export interface MessagesOptions {
  readonly pipe: Collective;
  readonly schedule: Schedule;
  readonly plan: StagePlan;
  /** The shapes of the step's micro-batches. */
  readonly shapes: string;
  /** Undefined if no other rank has the same values, so that messages are sent whole. */
  readonly scatter?: Scatter | undefined;
}

/** How many receives are posted ahead of the one that is waited for, for each other rank. */
const POSTED_AHEAD = 2;

/**
 * The messages of one step. The schedule says what every other rank sends, and in which order. So
 * receives are posted before their values are needed, and no rank asks another what it sends.
 */
export class Messages {
  readonly #options: MessagesOptions;
  readonly #inboxes = new Map<number, Inbox>();
  #sending: Pending<void>[] = [];
  #waitedMs = 0;
  #lastSent = -Infinity;

  constructor(options: MessagesOptions) {
    this.#options = options;
    const { pipe, schedule, plan } = options;
    schedule.rows.forEach((row, from) => {
      const sent = row
        .flatMap((action) => messagesOf(action, plan))
        .filter((message) => receiverOf(message, schedule.ranks) === pipe.rank);
      if (from !== pipe.rank && sent.length > 0) this.#inboxes.set(from, new Inbox(from, sent, options));
    });
  }

  /** Starts to send a tensor, which keeps its owner. */
  send(message: Message, tensor: Tensor, isZeros = false): void {
    this.#lastSent = performance.now();
    const { pipe, schedule, shapes, scatter } = this.#options;
    this.#sending = this.#sending.filter((pending) => {
      // Asked once: a message that ends between two questions would never be waited for, and so
      // would keep its tensor.
      const { isDone } = pending;
      if (isDone) pending.wait();
      return !isDone;
    });
    const to = receiverOf(message, schedule.ranks);
    const slot = slotOf(message, shapes);
    this.#sending.push(
      scatter?.send({ pipe, to, slot }, tensor, isZeros) ?? pipe.sendAsync(tensor, to, { slot, isZeros }),
    );
  }

  /**
   * Sends zeros in place of a tensor that this rank has failed to compute, so that its receiver goes
   * on to the end of the step. In the first message of a slot the shape is unknown: one number is
   * sent.
   */
  sendNothing(message: Message): void {
    const nothing = zeros([1]);
    this.send(message, nothing, true);
    nothing.dispose();
  }

  /** Waits for a tensor. The caller disposes it. */
  receive(message: Message): Tensor {
    const start = performance.now();
    const tensor = this.#inboxes.get(rankOf(message.stage, this.#options.schedule.ranks))!.take(message);
    this.#waitedMs += performance.now() - start;
    return tensor;
  }

  /** How long this rank has waited for tensors, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** When this rank last began to send a tensor, in milliseconds of `performance.now`. */
  get lastSent(): number {
    return this.#lastSent;
  }

  /** Waits until the other ranks have received everything. */
  end(): void {
    for (const pending of this.#sending.splice(0)) pending.wait();
  }
}

/** The tensors that one other rank sends in a step. */
class Inbox {
  readonly #posted: { readonly message: Message; readonly pending: Pending<Tensor> }[] = [];
  /** Tensors that came before they were needed. */
  readonly #early = new Map<string, Tensor>();
  #next = 0;

  constructor(
    private readonly from: number,
    private readonly sent: readonly Message[],
    private readonly options: MessagesOptions,
  ) {
    this.#post();
  }

  take(wanted: Message): Tensor {
    const key = keyOf(wanted);
    for (;;) {
      const early = this.#early.get(key);
      if (early) {
        this.#early.delete(key);
        return early;
      }
      const { message, pending } = this.#posted.shift()!;
      const received = pending.wait();
      const { scatter, shapes } = this.options;
      this.#early.set(keyOf(message), scatter?.join(slotOf(message, shapes), received) ?? received);
      this.#post();
    }
  }

  #post(): void {
    const { pipe, shapes, scatter } = this.options;
    while (this.#posted.length < POSTED_AHEAD && this.#next < this.sent.length) {
      const message = this.sent[this.#next++]!;
      const slot = slotOf(message, shapes);
      const pending = pipe.recvAsync(this.from, { slot: scatter?.slotOfNext(slot) ?? slot });
      this.#posted.push({ message, pending });
    }
  }
}
