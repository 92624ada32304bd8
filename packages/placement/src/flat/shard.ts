import { mul, reshape, slice, tidy, Variable, type Tensor } from '@tensorflow/tfjs-core';
import type { Defer } from '@acc/contract';
import { DeferredVariable } from '../deferred-variable.js';
import type { Placement } from '../placement.js';
import { freed, outdated } from './errors.js';
import type { Range } from './layout.js';

/** Where the values of a variable come from. */
export interface ShardSource {
  readonly defer: Defer;
  /** Called when values are needed that are not in memory: it fills the shards of the unit. */
  load(): void;
  /**
   * The whole values of a shard for one read. Undefined if {@link load} is to be called. Absent if it
   * always is.
   */
  readonly readOnce?: (shard: Shard) => Tensor | undefined;
  /** Called when a program has given a variable new values. */
  readonly assigned?: () => void;
  /** Called when {@link Shard.local} gets other values, as when a checkpoint is loaded. */
  forget(): void;
  /** Called after that. Returns whether it has written them where the elements are. */
  write(shard: Shard, values: Tensor): boolean;
}

/** A variable whose elements are divided over ranks. Its values are in memory while its unit is gathered. */
export class Shard extends DeferredVariable {
  readonly placement: Placement & Range;
  /** The data of `local` in the buffer of its unit. */
  #placed: object | undefined;

  /**
   * @param full Has the values that all ranks start from.
   * @param range This rank's elements. `local` has them, `[length]`.
   */
  constructor(full: Variable, range: Range, source: ShardSource) {
    const { readOnce } = source;
    super(
      full,
      (values) => tidy(() => slice(reshape(values, [-1]), [range.begin], [range.end - range.begin])),
      {
        ...source,
        ...{ freed, outdated },
        readOnce: readOnce && (() => readOnce(this)),
        write: (values) => source.write(this, values),
      },
    );
    this.placement = { kind: 'flat', ...range };
  }

  get length(): number {
    return this.placement.end - this.placement.begin;
  }

  /** Whether `local` lies in the buffer of its unit. */
  get isPlaced(): boolean {
    return !this.local.isDisposed && this.local.dataId === this.#placed;
  }

  /** Moves `local` to the memory of `part`, which has the same values and keeps its owner. */
  place(part: Tensor): void {
    Variable.prototype.assign.call(this.local, part);
    this.#placed = part.dataId;
  }

  /** Gives `local` memory of its own, with the same values. */
  detach(): void {
    if (this.isPlaced) tidy(() => Variable.prototype.assign.call(this.local, this.ownMemory(this.local)));
  }

  /** A slice may be a view that keeps all of a tensor. */
  protected override ownMemory(local: Tensor): Tensor {
    return mul(local, 1);
  }
}
