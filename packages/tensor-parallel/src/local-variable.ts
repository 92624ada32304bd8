import {
  engine,
  Tensor,
  tidy,
  util,
  Variable,
  variable as createVariable,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { ShardLayout, RowsAt } from '@acc/contract';
import { livesWith } from '@acc/kernels';
import type { DistributedVariable, Placement } from '@acc/placement';
import { patch, type Undo } from '@acc/tfjs-internals';
import { freed } from './errors.js';
import { localRows } from './local-rows.js';
import type { LocalTensors } from './local-tensors.js';

let created = 0;

/**
 * A variable of which this rank has one shard. Programs see `full`, which keeps its shape and reads as
 * its whole value.
 */
export class LocalVariable implements DistributedVariable {
  readonly placement: Placement & RowsAt;
  /** Has the name of the variable. Strategies and optimizers update it. */
  readonly local: Variable;
  readonly #layout: ShardLayout;
  readonly #restore: Undo;

  /** @param full Has the values that all ranks start from. */
  constructor(
    readonly full: Variable,
    at: RowsAt,
    private readonly shards: LocalTensors,
  ) {
    this.placement = { kind: 'shard', ...at };
    const name = `tensor/cut_${created++}`;
    this.local = tidy(() => createVariable(this.localOf(full), full.trainable, name));
    const { registeredVariables } = engine();
    delete registeredVariables[name];
    (this.local as { name: string }).name = full.name;
    livesWith(this.local, full);
    this.#layout = shards.layoutAt(full.shape, at);
    this.#follow();
    this.#restore = patch(full, 'assign', 'local values', (assign) => (values) => {
      const fits = values.dtype === full.dtype && util.arraysEqual(values.shape, full.shape);
      if (fits) tidy(() => this.local.assign(this.localOf(values)));
      else assign.call(full, values);
      this.release();
    });
  }

  localOf(values: Tensor): Tensor {
    return localRows(values, this.placement, this.shards);
  }

  /** A tensor in the shape of the variable of which this rank has `shard`, which it takes over. */
  whole(shard: Tensor): Tensor {
    const { local, line } = this.shards;
    const { shape, dtype } = this.full;
    line.backend.incRef(shard.dataId);
    const info = local.hold({ shape: [...shape], dtype, layout: this.#layout }, infoOf(shard));
    shard.dispose();
    return engine().makeTensorFromTensorInfo(info, line.backend);
  }

  /** Gives tensors that share the values of the variable their own, before the values change. */
  separate(): void {
    const { local, line } = this.shards;
    if (local.holders(this.full) < 2) return;
    line.backend.incRef(this.local.dataId);
    local.replace(this.full, this.#layout, infoOf(this.local));
    this.#follow();
  }

  /** Frees whole values that a read has gathered. */
  release(): void {
    this.shards.local.release(this.full);
  }

  dispose(): void {
    this.#restore();
    this.release();
    // Its own dispose would take the variable of this name off tfjs's list.
    Tensor.prototype.dispose.call(this.local);
  }

  /** Gives the variable a tensor whose shard is always {@link local}. */
  #follow(): void {
    const { local, line } = this.shards;
    const { shape, dtype } = this.full;
    const isFreed = () => this.local.isDisposed;
    const shard = () => {
      if (isFreed()) throw freed(this.full);
      return infoOf(this.local);
    };
    const info = local.follow({ shape: [...shape], dtype, layout: this.#layout }, { shard, isFreed });
    const tensor = engine().makeTensorFromTensorInfo(info, line.backend);
    Variable.prototype.assign.call(this.full, tensor);
    tensor.dispose();
  }
}

const infoOf = ({ dataId, shape, dtype }: Tensor): TensorInfo => ({ dataId, shape, dtype });
