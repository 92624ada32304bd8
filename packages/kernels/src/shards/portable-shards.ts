import {
  Add,
  Concat,
  getKernel,
  Multiply,
  Slice,
  util,
  type DataId,
  type KernelBackend,
  type KernelFunc,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { FixedResults, ShardedInfo, TensorShards, ShardsLayer } from '@acc/contract';
import { patch } from '@acc/tfjs-internals';
import { sumInPairs } from './sum-in-pairs.js';

/**
 * Shards of tensors of a tfjs backend whose kernels return tensor infos, such as `cpu`. Its data
 * must be one block, so the whole is made at once. Until `restore`, the backend frees shards
 * together with their whole.
 */
export function portableShards(backendName: string, backend: KernelBackend): FixedResults {
  const shards = new PortableShards(backendName, backend);
  const restore = patch(backend, 'disposeData', 'pieces', (own) => (dataId, force) => {
    const isGone = own.call(backend, dataId, force);
    if (isGone) shards.forget(dataId);
    return isGone;
  });
  return {
    shards,
    // The kernels use the seeds that tfjs's operators pass.
    seed() {},
    restore,
  };
}

interface Known extends TensorShards {
  /** The shards to free; empty if the whole is the only shard. */
  readonly own: readonly TensorInfo[];
}

class PortableShards implements ShardsLayer {
  readonly #known = new WeakMap<DataId, Known>();
  /**
   * The kernels at this time: kernels that are registered later may work with shards themselves.
   */
  readonly #kernels: ReadonlyMap<string, KernelFunc>;

  constructor(
    backendName: string,
    private readonly backend: KernelBackend,
  ) {
    const names = [Add, Concat, Multiply, Slice];
    this.#kernels = new Map(names.map((name) => [name, getKernel(name, backendName).kernelFunc]));
  }

  cut(x: TensorInfo, { outer, count, shape }: Parameters<ShardsLayer['cut']>[1]): TensorInfo[] {
    const length = util.sizeFromShape(shape) / outer;
    const repetitions = { ...x, shape: [outer, count * length] };
    return Array.from({ length: count }, (_, k) => {
      const attrs = { begin: [0, k * length], size: [outer, length] };
      return { ...this.#run(Slice, { x: repetitions }, attrs), shape };
    });
  }

  hold(info: ShardedInfo, shards: readonly TensorInfo[]): TensorInfo {
    const { shape, dtype, layout } = info;
    const isOne = shards.length === 1;
    const { dataId } = isOne ? shards[0]! : this.#joined(info, shards);
    const full = { dataId, shape, dtype };
    this.#known.set(dataId, { layout, shards: isOne ? [full] : shards, own: isOne ? [] : shards });
    return full;
  }

  divide(x: TensorInfo, count: number): void {
    if (this.#known.get(x.dataId)?.shards.length === count) return;
    this.forget(x.dataId);
    const [length, ...rest] = x.shape as [number, ...number[]];
    const shards = this.cut(x, { outer: 1, count, shape: [length / count, ...rest] });
    this.#known.set(x.dataId, { layout: { kind: 'rows', outer: 1, length }, shards, own: shards });
  }

  of(x: TensorInfo): TensorShards | undefined {
    const known = this.#known.get(x.dataId);
    return known?.own.length === 0 ? { layout: known.layout, shards: [x] } : known;
  }

  join(x: TensorInfo): TensorInfo {
    const flat = { ...x, shape: [util.sizeFromShape(x.shape)] };
    return { ...this.#run(Slice, { x: flat }, { begin: [0], size: flat.shape }), shape: x.shape };
  }

  /** Frees the shards of data that is disposed or gets new shards. */
  forget(dataId: DataId): void {
    const own = this.#known.get(dataId)?.own ?? [];
    this.#known.delete(dataId);
    for (const shard of own) this.#free(shard);
  }

  #joined({ shape, dtype, layout }: ShardedInfo, shards: readonly TensorInfo[]): TensorInfo {
    if (layout.kind === 'rows') {
      const repetitions = shards.map((shard) => ({
        ...shard,
        shape: [layout.outer, util.sizeFromShape(shard.shape) / layout.outer],
      }));
      return { ...this.#run(Concat, repetitions, { axis: 1 }), shape };
    }
    const sum = sumInPairs(
      shards,
      (a, b) => this.#run(Add, { a, b }),
      (partial) => this.#free(partial),
    );
    if (layout.scale === 1) return sum;
    const scale = {
      dataId: this.backend.write(Float32Array.of(layout.scale), [], 'float32'),
      shape: [],
      dtype,
    };
    const scaled = this.#run(Multiply, { a: sum, b: scale });
    this.#free(scale);
    this.#free(sum);
    return scaled;
  }

  #run(name: string, inputs: object, attrs: object = {}): TensorInfo {
    const given = {
      inputs: inputs as NamedTensorInfoMap,
      attrs: attrs as NamedAttrMap,
      backend: this.backend,
    };
    const { dataId, shape, dtype } = this.#kernels.get(name)!(given) as TensorInfo;
    return { dataId, shape, dtype };
  }

  #free({ dataId }: TensorInfo): void {
    this.backend.disposeData(dataId);
  }
}
