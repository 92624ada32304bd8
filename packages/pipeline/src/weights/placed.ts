import { tidy, zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, Defer } from '@acc/contract';
import { listedFor } from '@acc/kernels';
import { DeferredVariable, type Placement } from '@acc/placement';
import { besideTape } from '@acc/tfjs-internals';
import { elsewhere, freed, outdated } from '../errors.js';

export interface PlacedContext {
  readonly defer: Defer;
  /** The ranks of the pipeline. */
  readonly pipe: Collective;
  /** Called before the values come from the owner, because a program reads them. */
  readonly beforeLoad: (placed: Placed) => void;
  readonly isInStep: () => boolean;
}

/**
 * A weight that one rank of a pipeline holds. The others have no memory for it. Outside of a step
 * every rank can read it: the owner sends it, so all ranks read together.
 */
export class Placed extends DeferredVariable {
  readonly placement: Placement & { readonly kind: 'owner' };
  readonly #context: PlacedContext;

  /** @param full Has the same values on all ranks. */
  constructor(full: Variable, owner: number, context: PlacedContext) {
    const isOwner = context.pipe.rank === owner;
    super(full, (values) => (isOwner ? values : zeros([0], values.dtype)), {
      defer: context.defer,
      load: () => this.#load(),
      forget: () => this.#forget(),
      freed,
      outdated,
    });
    this.placement = { kind: 'owner', rank: owner };
    // Strategies may take it as a variable of its own.
    this.local.trainable = full.trainable;
    (this.local as { name: string }).name = `${this.name}/own`;
    this.#context = context;
  }

  /** The name by which programs and optimizers know the weight. */
  get name(): string {
    return listedFor(this.full).name;
  }

  get isOwn(): boolean {
    return this.#context.pipe.rank === this.placement.rank;
  }

  /**
   * The values, on every rank. All ranks call it. The caller disposes them.
   *
   * @param local Those of `local`. Only the owner calls it, in the scope of the call.
   */
  whole(local: () => Tensor): Tensor {
    const { pipe } = this.#context;
    if (pipe.size === 1) return local();
    const { shape, dtype } = this.full;
    return pipe.named(this.name, () =>
      tidy(() => pipe.broadcast(this.isOwn ? local() : zeros([...shape], dtype), this.placement.rank)),
    );
  }

  /** Makes the owner's values usable for a step. */
  useOwn(): void {
    this.fill(this.local, 0);
  }

  /** Gives the owner the values that a program has assigned. */
  takeOverAssigned(): void {
    if (this.state === 'assigned') this.takeOver();
  }

  #load(): void {
    if (this.#context.isInStep()) throw elsewhere(this.full);
    this.#context.beforeLoad(this);
    if (this.#context.pipe.size === 1) return this.useOwn();
    besideTape(() => {
      // No operator reads `local`: hooks around it would free what is being read.
      const full = this.whole(() => this.local);
      this.fill(full, 0);
      full.dispose();
    });
  }

  #forget(): void {
    this.release();
    if (this.isShared && this.state !== 'assigned') this.separate();
  }
}
