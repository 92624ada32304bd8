import type { Variable } from '@tensorflow/tfjs-core';
import { isLive, packedOf } from '@acc/kernels';
import { sharedPacked } from './errors.js';
import type { PackedShard } from './packed-shard.js';
import type { PackedUnit } from './packed-unit.js';

/** The units of packed variables, and the shard of each. */
export class PackedUnits {
  readonly list: PackedUnit[] = [];
  readonly of = new Map<Variable, PackedUnit>();
  readonly shards = new Map<Variable, PackedShard>();

  /** @param forget Called before a unit is freed. */
  constructor(private readonly forget: (unit: PackedUnit) => void) {}

  /**
   * The packed variables that no unit has yet.
   *
   * @throws AccError `ACC_QUANTIZED_PLACE` for one that shares its values with another.
   */
  fresh(variables: readonly Variable[]): Variable[] {
    const fresh = variables.filter((one) => packedOf(one) && !this.of.has(one));
    const owners = new Map(Array.from(this.of.keys(), (one) => [one.dataId, one]));
    for (const one of fresh) {
      const other = owners.get(one.dataId);
      if (other && other !== one) throw sharedPacked(one, other);
      owners.set(one.dataId, one);
    }
    return fresh;
  }

  add(unit: PackedUnit): void {
    this.list.push(unit);
    for (const shard of unit.shards) {
      this.of.set(shard.full, unit);
      this.shards.set(shard.full, shard);
    }
  }

  /** Frees the units all of whose variables a program has disposed. */
  forgetDisposed(): void {
    for (const unit of [...this.list]) if (!unit.shards.some(({ full }) => isLive(full))) this.#free(unit);
  }

  dispose(): void {
    for (const unit of [...this.list]) this.#free(unit);
  }

  #free(unit: PackedUnit): void {
    this.list.splice(this.list.indexOf(unit), 1);
    this.forget(unit);
    for (const { full } of unit.shards) {
      this.of.delete(full);
      this.shards.delete(full);
    }
    unit.dispose();
  }
}
