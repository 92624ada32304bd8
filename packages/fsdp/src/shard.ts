import { mul, reshape, slice, tidy, Variable, type Tensor } from '@tensorflow/tfjs-core';
import type { Defer } from '@acc/contract';
import { HeldVariable } from '@acc/kernels';
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
  /** Called when {@link Shard.own} gets other values, as when a checkpoint is loaded. */
  forget(): void;
  /** Called after that. Returns whether it has written them where the elements are. */
  write(shard: Shard, values: Tensor): boolean;
}

/** A variable whose elements are divided over ranks. Its values are in memory while its unit is gathered. */
export class Shard extends HeldVariable {
  /** The data of `own` in the buffer of its unit. */
  #placed: object | undefined;

  /**
   * @param variable Has the values that all ranks start from.
   * @param range This rank's elements. `own` has them, `[length]`.
   */
  constructor(
    variable: Variable,
    readonly range: Range,
    source: ShardSource,
  ) {
    const { readOnce } = source;
    super(
      variable,
      // A slice may be a view that keeps the whole variable; a shard has memory of its own.
      (whole) => mul(elementsOf(whole, range), 1),
      {
        ...source,
        ...{ freed, outdated },
        readOnce: readOnce && (() => readOnce(this)),
        write: (values) => source.write(this, values),
      },
    );
  }

  get length(): number {
    return this.range.end - this.range.begin;
  }

  /** Whether `own` lies in the buffer of its unit. */
  get isPlaced(): boolean {
    return !this.own.isDisposed && this.own.dataId === this.#placed;
  }

  /** Moves `own` to the memory of `part`, which has the same values and keeps its owner. */
  place(part: Tensor): void {
    Variable.prototype.assign.call(this.own, part);
    this.#placed = part.dataId;
  }

  /** Gives `own` memory of its own, with the same values. */
  detach(): void {
    if (this.isPlaced) tidy(() => Variable.prototype.assign.call(this.own, mul(this.own, 1)));
  }

  /** This rank's elements of a tensor in the shape of the variable. */
  cut(whole: Tensor): Tensor {
    return tidy(() => elementsOf(whole, this.range));
  }
}

function elementsOf(whole: Tensor, { begin, end }: Range): Tensor {
  return slice(reshape(whole, [-1]), [begin], [end - begin]);
}
