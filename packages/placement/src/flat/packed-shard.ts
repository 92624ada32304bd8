import {
  add,
  engine,
  reshape,
  scalar,
  slice,
  tidy,
  variable as createVariable,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import { frozenPacked, livesWith, packedOf, recordTensor, type PackedRecords } from '@acc/kernels';
import { patch, type Undo } from '@acc/tfjs-internals';
import type { DistributedVariable } from '../distributed-variable.js';
import type { Placement } from '../placement.js';
import { unpacked } from './errors.js';
import type { Range } from './layout.js';

/**
 * A packed variable whose records are divided over ranks. Each rank has an equal number of consecutive
 * ones; the last ranks may have fewer, or none. So shards end where records end.
 */
export class PackedShard implements DistributedVariable {
  readonly local: Variable;
  readonly placement: Placement & Range;
  readonly storage: PackedRecords;
  /** The most records of a rank. */
  readonly share: number;
  readonly #restore: Undo;

  /**
   * @param full Has the same records on all ranks. They are freed.
   * @param source.load Called when the records are needed: it writes all of them.
   * @param source.forget Called when {@link local} gets other values, as when a checkpoint is loaded.
   */
  constructor(
    readonly full: Variable,
    { rank, size }: { readonly rank: number; readonly size: number },
    source: { readonly load: () => void; readonly forget: () => void },
  ) {
    this.storage = packedOf(full)!.records;
    const [records, words] = this.storage.shape;
    this.share = Math.ceil(records / size);
    const first = Math.min(rank * this.share, records);
    const last = Math.min(first + this.share, records);
    this.placement = { kind: 'flat', begin: first * words, end: last * words };
    const name = `packed_${full.id}`;
    this.local = tidy(() => createVariable(this.localOf(full), false, name));
    delete engine().registeredVariables[name];
    livesWith(this.local, full);
    this.#restore = patch(this.local, 'assign', 'local values', (assign) => (values) => {
      source.forget();
      assign.call(this.local, values);
    });
    this.storage.defer(source.load);
  }

  get length(): number {
    return this.placement.end - this.placement.begin;
  }

  /**
   * This rank's words of a packed tensor.
   *
   * @throws AccError `ACC_QUANTIZED_FROZEN` for any other tensor, such as a gradient.
   */
  localOf(full: Tensor): Tensor {
    const { begin } = this.placement;
    const packed = packedOf(full);
    if (!packed) throw frozenPacked(this.full);
    return tidy(() => {
      const all = reshape(recordTensor(packed.records), [-1]);
      // A slice may be a view that keeps all records.
      return add(slice(all, [begin], [this.length]), scalar(0, 'int32'));
    });
  }

  /** @throws AccError `ACC_QUANTIZED_PLACE` if another backend has taken the variable's values. */
  requirePacked(): void {
    if (!this.full.isDisposed && packedOf(this.full) === undefined) throw unpacked(this.full);
  }

  dispose(): void {
    this.#restore();
    this.local.dispose();
  }
}
