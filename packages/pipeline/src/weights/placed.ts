import { mul, tidy, zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, Defer, TensorShard } from '@acc/contract';
import { HeldVariable, listedFor } from '@acc/kernels';
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
export class Placed extends HeldVariable {
  readonly owner: number;
  readonly #context: PlacedContext;

  /** @param variable Has the same values on all ranks. */
  constructor(variable: Variable, owner: number, context: PlacedContext) {
    const isOwner = context.pipe.rank === owner;
    super(variable, (whole) => (isOwner ? whole : zeros([0], whole.dtype)), {
      defer: context.defer,
      load: () => this.#load(),
      forget: () => this.#forget(),
      freed,
      outdated,
    });
    this.owner = owner;
    // Strategies may take it as a variable of its own.
    this.own.trainable = variable.trainable;
    (this.own as { name: string }).name = `${this.name}/own`;
    this.#context = context;
  }

  /** The name by which programs and optimizers know the weight. */
  get name(): string {
    return listedFor(this.variable).name;
  }

  get isOwn(): boolean {
    return this.#context.pipe.rank === this.owner;
  }

  /** The values, on every rank. All ranks call it. The caller disposes them. */
  whole(): Tensor {
    const { pipe } = this.#context;
    const { shape, dtype } = this.variable;
    if (pipe.size === 1) return tidy(() => mul(this.own, 1));
    return pipe.named(this.name, () =>
      tidy(() => pipe.broadcast(this.isOwn ? this.own : zeros([...shape], dtype), this.owner)),
    );
  }

  /** Makes the owner's values usable for a step. */
  useOwn(): void {
    this.fill(this.own, 0);
  }

  /** The box of the elements that this rank holds. */
  get shard(): TensorShard {
    const { shape } = this.variable;
    const none = shape.map(() => 0);
    return { shape, offset: none, sizes: this.isOwn ? shape : none, start: 0 };
  }

  #load(): void {
    if (this.#context.isInStep()) throw elsewhere(this.variable);
    this.#context.beforeLoad(this);
    besideTape(() => {
      const whole = this.whole();
      this.fill(whole, 0);
      whole.dispose();
    });
  }

  #forget(): void {
    this.release();
    if (this.isShared && !this.isAssigned) this.separate();
  }
}
