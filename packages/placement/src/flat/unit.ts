import { keep, reshape, split, tidy, zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import {
  isAccError,
  type Collective,
  type Defer,
  type DivideMemory,
  type Pending,
  type ShardVerbOptions,
} from '@acc/contract';
import { besideTape } from '@acc/tfjs-internals';
import { unitTooLarge } from './errors.js';
import { FLOAT_BYTES, layoutOf, rangeOf, type UnitLayout } from './layout.js';
import { Shard } from './shard.js';
import type { ShardStore } from './shard-store.js';
import { FullBuffer } from './full-buffer.js';

/** The types in which elements travel. Undefined: float32. */
export interface WireDtypes {
  readonly param: WireDtype;
  readonly reduce: WireDtype;
}

export type WireDtype = ShardVerbOptions<Tensor>['wireDtype'];

/** The purpose of the values of a unit. Those of a step may be rounded. */
export type Purpose = 'step' | 'reading';

export interface UnitContext {
  /** The ranks over which parameters are divided. */
  readonly collective: Collective;
  /** The ranks that have the same shards. Undefined if this is the only one. */
  readonly replicas?: Collective | undefined;
  readonly wire?: WireDtypes;
  /** See {@link layoutOf}. */
  readonly alignment?: number;
  readonly defer: Defer;
  /** Called when values of the unit are read that are not in memory. It gathers the unit. */
  load(unit: Unit): void;
  /** Keeps shards of parameters elsewhere than in memory between their uses. */
  readonly offload?: ShardStore | undefined;
  /** Given if whole values stay in memory; see {@link FullBuffer}. */
  readonly divide?: (() => DivideMemory | undefined) | undefined;
}

/** Where the whole values of a unit are (as the `ShardedState` of PyTorch's FSDP2). */
type GatherState =
  /** Nowhere: each rank has its shards, and the variables have no values. */
  | { readonly kind: 'sharded' }
  /** On their way. */
  | { readonly kind: 'gathering'; readonly pending: Pending<Tensor>; readonly isRounded: boolean }
  /** In memory: the variables have them. `isRounded`: they were rounded for a step. */
  | { readonly kind: 'gathered'; readonly isRounded: boolean };

const SHARDED: GatherState = { kind: 'sharded' };

/** Variables that are gathered together. */
export interface GatheredUnit {
  /** The number of operators that use it now. */
  uses: number;
  /** Whether the values are in memory as {@link gather} leaves them, and no variable has others. */
  isReady(purpose: Purpose): boolean;
  /** Whether {@link startGather} has nothing to do, and no variable has other values. */
  isStarted(purpose: Purpose): boolean;
  /** Starts to read this rank's shards, if they are not in memory and will be gathered. */
  readAhead(): void;
  /** Starts to gather, if that was not done. Every rank calls it. */
  startGather(purpose: Purpose): void;
  /** Gathers. Every rank calls it. */
  gather(purpose: Purpose): void;
  /** Frees the values, unless they are in use. */
  release(): void;
  /** Takes over values that a program has assigned to variables of the unit, if it is not in use. */
  takeOverAssigned(): void;
}

/** Variables that are gathered and reduced together, in one flat buffer. */
export class Unit implements GatheredUnit {
  readonly name: string;
  readonly layout: UnitLayout;
  readonly shards: readonly Shard[];
  uses = 0;

  readonly #context: UnitContext;
  readonly #collective: Collective;
  readonly #offload: ShardStore | undefined;
  /** Undefined if values are released between their uses. */
  readonly #buffer: FullBuffer | undefined;
  #state: GatherState = SHARDED;

  /** @param variables Have the same values on all ranks. Their memory is freed. */
  constructor(variables: readonly Variable[], context: UnitContext) {
    const { collective, defer, offload, divide } = context;
    this.#context = context;
    const { name } = variables[0]!;
    this.name = variables.length === 1 ? name : `${name} … ${variables.at(-1)!.name}`;
    this.#collective = collective;
    this.#offload = offload;
    this.layout = layoutOf(
      variables.map(({ size }) => size),
      collective.size,
      context.alignment,
    );
    const source = {
      defer,
      load: () => context.load(this),
      // Elsewhere whole values stay in memory.
      ...(!divide && {
        readOnce: (shard: Shard) => this.wholeOf(shard, () => shard.local),
        assigned: () => this.takeOverAssigned(),
      }),
      forget: () => this.forget(),
      write: (shard: Shard, values: Tensor) => this.#buffer?.write(shard, values) ?? false,
    };
    this.shards = variables.map(
      (variable, place) => new Shard(variable, rangeOf(this.layout, place, collective.rank), source),
    );
    this.#buffer = divide && new FullBuffer({ layout: this.layout, shards: this.shards, divide });
    offload?.moveOut(this.shards);
  }

  isReady(purpose: Purpose): boolean {
    return this.#state.kind === 'gathered' && this.isStarted(purpose);
  }

  isStarted(purpose: Purpose): boolean {
    if (this.#state.kind === 'sharded') return false;
    const isAsNeeded = this.#state.isRounded === this.#isRoundedFor(purpose) || this.uses > 0;
    return isAsNeeded && !this.shards.some(({ state }) => state === 'assigned');
  }

  #isRoundedFor(purpose: Purpose): boolean {
    return purpose === 'step' && this.#context.wire?.param !== undefined;
  }

  readAhead(): void {
    if (this.#state.kind === 'sharded') this.#offload?.readAhead(this.shards);
  }

  startGather(purpose: Purpose): void {
    const wireDtype = purpose === 'step' ? this.#context.wire?.param : undefined;
    const isRounded = this.#isRoundedFor(purpose);
    if (this.#state.kind !== 'sharded' && this.#state.isRounded !== isRounded) this.release();
    if (this.#state.kind !== 'sharded') return;
    const start = () => {
      const into = this.#buffer?.lend();
      // One rank alone has all elements.
      if (into && this.#collective.size === 1)
        return this.#started(() => ({ isDone: true, wait: () => into }));
      const { shards, fillers } = this.#ownChunk();
      const options = { ...(wireDtype && { wireDtype }), ...(into && { into }) };
      const pending = this.#started(() => this.#collective.allGatherFlatAsync(shards, options));
      for (const filler of fillers) filler.dispose();
      return pending;
    };
    const pending = this.#offload ? this.#offload.withParameters(this.shards, start) : start();
    this.#state = { kind: 'gathering', pending, isRounded };
  }

  gather(purpose: Purpose): void {
    this.#inMemory('gather', () => {
      this.startGather(purpose);
      if (this.#state.kind === 'gathering') this.#finishGather(this.#state);
    });
  }

  /**
   * Gathers the whole values of one shard. The caller disposes them. Undefined if the values of the
   * unit are in memory or on their way: whether a gather was started is the same on all ranks, whether
   * it has ended is not. Every rank calls it.
   *
   * @param local This rank's elements. Called in the scope of the call.
   */
  wholeOf({ full }: Shard, local: () => Tensor): Tensor | undefined {
    if (this.#state.kind !== 'sharded' && !this.#state.isRounded) return undefined;
    return besideTape(() => tidy(() => reshape(this.#collective.allGather(local()), full.shape)));
  }

  #finishGather({ pending, isRounded }: Extract<GatherState, { kind: 'gathering' }>): void {
    const gathered = pending.wait();
    this.#state = SHARDED;
    const flat = this.#buffer?.arrive(gathered) ?? gathered;
    this.shards.forEach((shard, i) => shard.fill(flat, this.layout.offsets[i]!));
    if (this.#buffer) this.#buffer.keep(flat);
    else flat.dispose();
    this.#state = { kind: 'gathered', isRounded };
  }

  release(): void {
    if (this.uses > 0) return;
    if (this.#state.kind === 'gathering') {
      if (this.#buffer) this.#finishGather(this.#state);
      else this.#state.pending.wait().dispose();
    }
    if (this.#state.kind === 'gathered') for (const shard of this.shards) shard.release();
    this.#state = SHARDED;
  }

  /** Frees values that an optimizer has changed. Tensors that shared them lose theirs. */
  forget(): void {
    this.release();
    for (const shard of this.shards) if (shard.isShared && shard.state !== 'assigned') shard.separate();
  }

  /** Called before an optimizer changes this rank's elements. */
  beginUpdate(): void {
    if (!this.#buffer) return;
    this.release();
    this.#buffer.beginUpdate();
  }

  /** Called after an update, or after its failure. */
  endUpdate(): void {
    this.#buffer?.endUpdate();
  }

  takeOverAssigned(): void {
    if (this.uses > 0) return;
    const assigned = this.shards.filter(({ state }) => state === 'assigned');
    if (assigned.length === 0) return;
    // What is gathered, or on its way, has the earlier values.
    this.release();
    for (const shard of assigned) shard.takeOver();
  }

  /**
   * Starts the sum of gradients over the ranks that share the unit. The result is this rank's chunk.
   *
   * @param grads A gradient or undefined, for each variable. Disposed.
   */
  reduceScatter(grads: readonly (Tensor | undefined)[]): Pending<Tensor> {
    const { sizes, gaps } = this.layout;
    const shards = grads.flatMap((grad, i) => (grad ? [grad, ...gap(gaps[i]!)] : gap(sizes[i]! + gaps[i]!)));
    const start = () => this.#collective.reduceScatterFlatAsync(shards, 'sum', this.#reducing);
    return this.#inMemory('reduce the gradients of', () => this.#started(start));
  }

  /** Whether other ranks have the same shards. */
  get hasReplicas(): boolean {
    return this.#context.replicas !== undefined;
  }

  /**
   * Starts the sum of a chunk over the ranks with the same shards. Requires {@link hasReplicas}.
   *
   * @param chunkOfRank Disposed.
   */
  sumReplicas(chunkOfRank: Tensor): Pending<Tensor> {
    return this.#named(() => this.#context.replicas!.allReduceAsync(chunkOfRank, 'sum', this.#reducing));
  }

  /**
   * This rank's elements of the gradient of each variable. They may be elsewhere than in memory, and
   * are read when they are used.
   *
   * @param chunkOfRank This rank's chunk of the sums. Disposed.
   */
  ownGradients(chunkOfRank: Tensor): Tensor[] {
    const own = tidy(() => this.#cutChunk(chunkOfRank));
    chunkOfRank.dispose();
    return this.#offload?.moveGradients(own) ?? own;
  }

  /** This rank's elements of each variable in this rank's chunk of a flat buffer. */
  #cutChunk(chunkOfRank: Tensor): Tensor[] {
    const cuts: number[] = [];
    let at = 0;
    this.shards.forEach(({ length }, i) => {
      const begin = length === 0 ? at : this.#startInChunk(i);
      cuts.push(begin - at, length);
      at = begin + length;
    });
    cuts.push(this.layout.chunk - at);
    return split(chunkOfRank, cuts).filter((_, i) => i % 2 === 1);
  }

  dispose(): void {
    this.uses = 0;
    try {
      this.release();
    } catch {
      // A gather failed that nobody needs any more: another rank is gone.
    }
    for (const shard of this.shards) shard.dispose();
    this.#buffer?.dispose();
  }

  /** The tensors that this rank's chunk consists of. The caller disposes the fillers. */
  #ownChunk(): { readonly shards: readonly Tensor[]; readonly fillers: readonly Tensor[] } {
    const shards: Tensor[] = [];
    const fillers: Tensor[] = [];
    const fillUpTo = (place: number) => {
      const filler = gap(place - at);
      fillers.push(...filler);
      shards.push(...filler);
    };
    let at = 0;
    this.shards.forEach(({ local, length }, i) => {
      if (length === 0) return;
      const begin = this.#startInChunk(i);
      fillUpTo(begin);
      shards.push(local);
      at = begin + length;
    });
    fillUpTo(this.layout.chunk);
    return { shards, fillers };
  }

  get #reducing(): { readonly donate: true } & Pick<ShardVerbOptions<Tensor>, 'wireDtype'> {
    const wireDtype = this.#context.wire?.reduce;
    return { donate: true, ...(wireDtype && { wireDtype }) };
  }

  /** @throws AccError `ACC_OUT_OF_MEMORY` that names the unit and what to change. */
  #inMemory<T>(act: string, fn: () => T): T {
    try {
      return fn();
    } catch (error) {
      if (!isAccError(error, 'ACC_OUT_OF_MEMORY')) throw error;
      const bytes = FLOAT_BYTES * this.layout.chunk * this.#collective.size;
      throw unitTooLarge({ name: this.name, bytes }, act, error);
    }
  }

  #startInChunk(place: number): number {
    const { offsets, chunk } = this.layout;
    return offsets[place]! + this.shards[place]!.placement.begin - this.#collective.rank * chunk;
  }

  #named<T>(call: () => T): T {
    const { replicas } = this.#context;
    const named = () => this.#collective.named(this.name, call);
    return replicas ? replicas.named(this.name, named) : named();
  }

  /** The result of a collective over the ranks that share the unit. */
  #started(call: () => Pending<Tensor>): Pending<Tensor> {
    const pending = this.#named(call);
    // One rank alone has the result at once. The scope of this call must not free it.
    if (this.#collective.size === 1) keep(pending.wait());
    return pending;
  }
}

const gap = (length: number): Tensor[] => (length > 0 ? [zeros([length])] : []);
