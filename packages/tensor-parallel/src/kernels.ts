import {
  engine,
  getKernelsForBackend,
  type KernelBackend,
  type KernelConfig,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { untracked } from './tensor-info.js';

/** The kernels of a backend as they were, which compute on tensors that this rank has. */
export class Kernels {
  readonly #configs: ReadonlyMap<string, KernelConfig>;

  constructor(readonly backendName: string) {
    this.#configs = new Map(getKernelsForBackend(backendName).map((config) => [config.kernelName, config]));
  }

  get configs(): Iterable<KernelConfig> {
    return this.#configs.values();
  }

  config(name: string): KernelConfig {
    return this.#configs.get(name)!;
  }

  get backend(): KernelBackend {
    return engine().findBackend(this.backendName);
  }

  /** The only result of a kernel. The caller owns it. */
  run(name: string, inputs: Readonly<Record<string, TensorInfo>>, attrs: object = {}): TensorInfo {
    const result = this.config(name).kernelFunc({
      inputs: inputs as NamedTensorInfoMap,
      attrs: attrs as NamedAttrMap,
      backend: this.backend,
    }) as TensorInfo;
    return untracked(result, this.backend);
  }

  /** A number as a tensor. The caller frees it. */
  scalar(value: number, dtype: 'float32' | 'int32' = 'float32'): TensorInfo {
    const values = dtype === 'int32' ? Int32Array.of(value) : Float32Array.of(value);
    return { dataId: this.backend.write(values, [], dtype), shape: [], dtype };
  }

  /** Frees an intermediate result. */
  free({ dataId }: TensorInfo): void {
    this.backend.disposeData(dataId);
  }
}
