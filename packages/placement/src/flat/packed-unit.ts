import { keep, reshape, slice, tidy, zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { isAccError, type Collective, type Pending } from '@acc/contract';
import { writeRecords } from '@acc/kernels';
import { besideTape } from '@acc/tfjs-internals';
import { freed, unitTooLarge } from './errors.js';
import { FLOAT_BYTES } from './layout.js';
import { PackedShard } from './packed-shard.js';
import type { ShardStore } from './shard-store.js';
import type { GatheredUnit } from './unit.js';

export interface PackedUnitContext {
  /** The ranks over which records are divided. */
  readonly collective: Collective;
  /** Called when values of the unit are read that are not in memory. It gathers the unit. */
  load(unit: PackedUnit): void;
  /** Keeps shards elsewhere than in memory between their uses. */
  readonly offload?: ShardStore | undefined;
}

type PackedState =
  | { readonly kind: 'sharded' }
  | { readonly kind: 'gathering'; readonly pending: Pending<Tensor> }
  | { readonly kind: 'gathered' };

const SHARDED: PackedState = { kind: 'sharded' };

/**
 * Packed variables that are gathered together. Their records travel as they lie in memory, and are
 * unpacked on each rank, for one operator at a time. They are frozen, so there are no gradients.
 */
export class PackedUnit implements GatheredUnit {
  readonly name: string;
  readonly shards: readonly PackedShard[];
  uses = 0;
  readonly #collective: Collective;
  readonly #offload: ShardStore | undefined;
  /** The words of a rank: for each variable, those of the rank that has most. */
  readonly #chunk: number;
  #state: PackedState = SHARDED;

  /** @param variables Have the same records on all ranks. Their memory is freed. */
  constructor(variables: readonly Variable[], { collective, load, offload }: PackedUnitContext) {
    const { name } = variables[0]!;
    this.name = variables.length === 1 ? name : `${name} … ${variables.at(-1)!.name}`;
    this.#collective = collective;
    this.#offload = offload;
    const source = { load: () => load(this), forget: () => this.release() };
    this.shards = variables.map((variable) => new PackedShard(variable, collective, source));
    this.#chunk = this.shards.reduce((sum, shard) => sum + wordsInChunk(shard), 0);
    offload?.moveOut(this.shards);
  }

  isReady(): boolean {
    return this.#state.kind === 'gathered';
  }

  isStarted(): boolean {
    return this.#state.kind !== 'sharded';
  }

  readAhead(): void {
    if (this.#state.kind === 'sharded') this.#offload?.readAhead(this.shards);
  }

  startGather(): void {
    if (this.#state.kind !== 'sharded') return;
    const start = () => this.#started();
    this.#inMemory(() => {
      const pending = this.#offload ? this.#offload.withParameters(this.shards, start) : start();
      this.#state = { kind: 'gathering', pending };
    });
  }

  gather(): void {
    this.startGather();
    const state = this.#state as PackedState;
    if (state.kind === 'gathering') this.#inMemory(() => this.#finish(state.pending));
  }

  /** Runs a part of a gather. Its errors name the unit. */
  #inMemory(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!isAccError(error, 'ACC_OUT_OF_MEMORY')) throw error;
      const bytes = FLOAT_BYTES * this.#chunk * this.#collective.size;
      throw unitTooLarge({ name: this.name, bytes }, 'gather', error);
    }
  }

  release(): void {
    if (this.uses > 0) return;
    if (this.#state.kind === 'gathering') this.#state.pending.wait().dispose();
    if (this.#state.kind === 'gathered') for (const { storage } of this.shards) storage.release();
    this.#state = SHARDED;
  }

  /** A packed variable gets no other values. */
  takeOverAssigned(): void {}

  dispose(): void {
    this.uses = 0;
    try {
      this.release();
    } catch {
      // A gather failed that nobody needs any more: another rank is gone.
    }
    for (const shard of this.shards) {
      const { full, storage } = shard;
      storage.defer(() => {
        throw freed(full);
      });
      shard.dispose();
    }
  }

  #started(): Pending<Tensor> {
    const fillers = this.shards.map(fillerOf);
    const chunk = this.shards.flatMap((shard, i) =>
      shard.length > 0 ? [shard.local, ...fillers[i]!] : fillers[i]!,
    );
    const pending = this.#collective.named(this.name, () => this.#collective.allGatherFlatAsync(chunk));
    for (const filler of fillers.flat()) filler.dispose();
    // One rank alone has the result at once. The scope of this call must not free it.
    if (this.#collective.size === 1) keep(pending.wait());
    return pending;
  }

  /** The shares of a variable lie in the chunks of the ranks. */
  #finish(pending: Pending<Tensor>): void {
    const gathered = pending.wait();
    this.#state = SHARDED;
    try {
      this.#write(gathered);
    } finally {
      gathered.dispose();
    }
    this.#state = { kind: 'gathered' };
  }

  #write(gathered: Tensor): void {
    besideTape(() =>
      tidy(() => {
        const { size } = this.#collective;
        const chunks = reshape(gathered, [size, this.#chunk]);
        let at = 0;
        for (const shard of this.shards) {
          const { storage } = shard;
          const all = reshape(slice(chunks, [0, at], [size, wordsInChunk(shard)]), [size * shard.share, -1]);
          writeRecords(storage, slice(all, [0, 0], [...storage.shape]));
          at += wordsInChunk(shard);
        }
      }),
    );
  }
}

const wordsInChunk = ({ share, storage }: PackedShard): number => share * storage.shape[1];

/** Zeros for the records that other ranks have more. */
function fillerOf(shard: PackedShard): Tensor[] {
  const missing = wordsInChunk(shard) - shard.length;
  return missing > 0 ? [zeros([missing], 'int32')] : [];
}
