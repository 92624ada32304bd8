import { dispose, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionBlockSettings, Pending } from '@acc/contract';
import { columnsOfBlock } from '../masks.js';
import { compareShapes } from './compare-shapes.js';
import { lengthOfHalf } from './halves.js';
import type { Part } from './part.js';
import type { Ring } from './ring.js';
import type { RingInputs } from './ring-inputs.js';

/**
 * The way of one shard of keys and values around the ranks, as one rank sees it: in step t it has the
 * shard of the rank t places before. Shards visit all ranks. With `isCausal`, they start at their own
 * rank and end at the last, because queries of ranks before do not see them; but if ranks are
 * balanced, each rank has queries that see a part of every shard.
 */
export class Round {
  /** The number of shards that this rank gets, its own included. */
  readonly steps: number;
  readonly #sends: Pending<void>[] = [];
  readonly #homeward: Pending<void>[] = [];

  constructor(private readonly ring: Ring) {
    const { rank, size } = this.#ranks;
    this.steps = this.#endsAtLast ? rank + 1 : size;
  }

  get #endsAtLast(): boolean {
    return this.ring.settings.isCausal && !this.ring.isBalanced;
  }

  get #ranks() {
    return this.ring.shards.ranks;
  }

  get settings(): Ring['settings'] {
    return this.ring.settings;
  }

  get kernels() {
    return this.ring.shards.kernels;
  }

  /** The rank whose shard this rank has in a step. */
  shardIn(step: number): number {
    const { rank, size } = this.#ranks;
    return (rank - step + size) % size;
  }

  /** Whether another rank gets the shard after this one. */
  passesOn(step: number): boolean {
    const { rank, size } = this.#ranks;
    return this.#endsAtLast ? rank < size - 1 : step < size - 1;
  }

  get nextRank(): number {
    const { rank, size } = this.#ranks;
    return (rank + 1) % size;
  }

  /** The rank that is the last to get this rank's shard. */
  get lastHolder(): number {
    const { rank, size } = this.#ranks;
    return this.#endsAtLast ? size - 1 : (rank + size - 1) % size;
  }

  /**
   * The queries and keys that see each other in a step, if ranks are balanced: a half of the
   * queries sees all keys, or all queries see a half of the keys. Undefined: all.
   */
  partIn(step: number, length: number): Part | undefined {
    if (!this.ring.isBalanced || step === 0) return undefined;
    const { rank } = this.#ranks;
    const shard = this.shardIn(step);
    if (shard < rank) return { fromQuery: 0, keys: lengthOfHalf(shard, length) };
    return { fromQuery: lengthOfHalf(rank, length), keys: length };
  }

  /**
   * Compares the shapes of the ranks' shards, before the first message: messages of a slot do not say
   * their shapes, and one that its receiver refused would reach a later receive. Those of balanced
   * ranks have been compared.
   */
  compareShapes(held: readonly Tensor[]): void {
    if (!this.ring.isBalanced) compareShapes(held, this.#ranks);
  }

  /**
   * Passes tensors of the shard of this step on, and asks for those of the next step. Nothing waits:
   * both travel while this rank computes.
   *
   * @returns Waits for the tensors of the next step. Undefined in the last step.
   */
  exchange(step: number, held: readonly Tensor[]): (() => Tensor[]) | undefined {
    const slotOf = (x: Tensor) => `block ${this.kernels.precision?.dtypeOf(x) ?? x.dtype} ${x.shape.join()}`;
    if (this.passesOn(step)) this.#send(held, this.nextRank, slotOf);
    return step < this.steps - 1 ? this.#receive(this.shardIn(1), held, slotOf) : undefined;
  }

  /** Sends gradients of the shard of this step along with it. */
  sendGradients(xs: readonly Tensor[]): void {
    this.#send(xs, this.nextRank, slotOfGradient);
  }

  /**
   * Sends gradients to the rank of their shard, which may get them only at its end. So {@link sent}
   * does not wait for them.
   */
  sendHome(xs: readonly Tensor[], toRank: number): void {
    for (const x of xs) this.#homeward.push(this.#sending(x, toRank, slotOfGradient));
  }

  /** @param like Tensors of the shapes of the gradients. */
  receiveGradients(fromRank: number, like: readonly Tensor[]): () => Tensor[] {
    return this.#receive(fromRank, like, slotOfGradient);
  }

  #send(xs: readonly Tensor[], toRank: number, slotOf: SlotOf): void {
    for (const x of xs) this.#sends.push(this.#sending(x, toRank, slotOf));
  }

  #sending(x: Tensor, toRank: number, slotOf: SlotOf): Pending<void> {
    return this.#ranks.sendAsync(x, toRank, { slot: slotOf(x) });
  }

  #receive(fromRank: number, like: readonly Tensor[], slotOf: SlotOf): () => Tensor[] {
    const coming = like.map((x) => this.#ranks.recvAsync(fromRank, { slot: slotOf(x) }));
    return () => coming.map((each) => each.wait());
  }

  /**
   * Waits until the next rank has got what was sent. Call it after tensors of this step have been
   * received: ranks that only wait for each other's receives would never end.
   */
  sent(): void {
    for (const send of this.#sends.splice(0)) send.wait();
    const underWay = this.#homeward.splice(0);
    for (const send of underWay) {
      if (send.isDone) send.wait();
      else this.#homeward.push(send);
    }
  }

  /** Waits until everything has been sent. */
  end(): void {
    for (const send of [...this.#sends.splice(0), ...this.#homeward.splice(0)]) send.wait();
  }

  /** The tensors that travel: keys, values, and a mask of the keys. */
  travelling({ k, v, mask }: RingInputs): Tensor[] {
    return this.ring.columns === 'own' ? [k, v, mask!] : [k, v];
  }

  /** Runs `compute` with the settings of a step, in which this rank has `held`. */
  withBlock<T>(
    step: number,
    [k, , ownMask]: readonly Tensor[],
    mask: Tensor | undefined,
    compute: (settings: AttentionBlockSettings) => T,
  ): T {
    const { settings, columns } = this.ring;
    const isCausal = settings.isCausal && step === 0;
    const cut = columns === 'all' ? columnsOfBlock(mask!, this.shardIn(step), k!.shape[2]!) : undefined;
    try {
      return compute({ scale: settings.scale, isCausal, mask: cut ?? ownMask ?? mask });
    } finally {
      dispose(cut ? [cut] : []);
    }
  }
}

/** Messages of one slot have one shape and one element type, so only the first says which. */
type SlotOf = (x: Tensor) => string;

/** The slot of a gradient. Gradients are float32, in which the parts of all ranks are added. */
const slotOfGradient: SlotOf = ({ shape }) => `gradient ${shape.join()}`;
