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
import type { FixedResults, PartedInfo, Parts, PartsLayer } from '@acc/contract';
import { patch } from '@acc/tfjs-internals';
import { sumInPairs } from './sum-in-pairs.js';

/**
 * Parts of tensors of a backend of tfjs's whose kernels give tensor infos, as `cpu` does. Its data is in memory as a whole, so that
 * the whole is made at once. Until `restore` the backend frees parts together with their whole.
 */
export function portableParts(backendName: string, backend: KernelBackend): FixedResults {
  const parts = new PortableParts(backendName, backend);
  const restore = patch(backend, 'disposeData', (own) => (dataId, force) => {
    const isGone = own.call(backend, dataId, force);
    if (isGone) parts.forget(dataId);
    return isGone;
  });
  return {
    parts,
    // Its kernels draw what tfjs's operators give them.
    seed() {},
    restore,
  };
}

interface Known extends Parts {
  /** The parts, unless the whole is the only one. */
  readonly own: readonly TensorInfo[];
}

class PortableParts implements PartsLayer {
  readonly #known = new WeakMap<DataId, Known>();
  /** As they are now: those that are registered later may work with parts themselves. */
  readonly #kernels: ReadonlyMap<string, KernelFunc>;

  constructor(
    backendName: string,
    private readonly backend: KernelBackend,
  ) {
    const names = [Add, Concat, Multiply, Slice];
    this.#kernels = new Map(names.map((name) => [name, getKernel(name, backendName).kernelFunc]));
  }

  cut(x: TensorInfo, { outer, count, shape }: Parameters<PartsLayer['cut']>[1]): TensorInfo[] {
    const length = util.sizeFromShape(shape) / outer;
    const repetitions = { ...x, shape: [outer, count * length] };
    return Array.from({ length: count }, (_, k) => {
      const attrs = { begin: [0, k * length], size: [outer, length] };
      return { ...this.#run(Slice, { x: repetitions }, attrs), shape };
    });
  }

  hold(info: PartedInfo, parts: readonly TensorInfo[]): TensorInfo {
    const { shape, dtype, layout } = info;
    const isOne = parts.length === 1;
    const { dataId } = isOne ? parts[0]! : this.#joined(info, parts);
    const whole = { dataId, shape, dtype };
    this.#known.set(dataId, { layout, parts: isOne ? [whole] : parts, own: isOne ? [] : parts });
    return whole;
  }

  divide(x: TensorInfo, count: number): void {
    if (this.#known.get(x.dataId)?.parts.length === count) return;
    this.forget(x.dataId);
    const [length, ...rest] = x.shape as [number, ...number[]];
    const parts = this.cut(x, { outer: 1, count, shape: [length / count, ...rest] });
    this.#known.set(x.dataId, { layout: { kind: 'rows', outer: 1, length }, parts, own: parts });
  }

  of(x: TensorInfo): Parts | undefined {
    const known = this.#known.get(x.dataId);
    return known?.own.length === 0 ? { layout: known.layout, parts: [x] } : known;
  }

  join(x: TensorInfo): TensorInfo {
    const flat = { ...x, shape: [util.sizeFromShape(x.shape)] };
    return { ...this.#run(Slice, { x: flat }, { begin: [0], size: flat.shape }), shape: x.shape };
  }

  /** Frees the parts of data that is gone, or is given others. */
  forget(dataId: DataId): void {
    const own = this.#known.get(dataId)?.own ?? [];
    this.#known.delete(dataId);
    for (const part of own) this.#free(part);
  }

  #joined({ shape, dtype, layout }: PartedInfo, parts: readonly TensorInfo[]): TensorInfo {
    if (layout.kind === 'rows') {
      const repetitions = parts.map((part) => ({
        ...part,
        shape: [layout.outer, util.sizeFromShape(part.shape) / layout.outer],
      }));
      return { ...this.#run(Concat, repetitions, { axis: 1 }), shape };
    }
    const sum = sumInPairs(
      parts,
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
