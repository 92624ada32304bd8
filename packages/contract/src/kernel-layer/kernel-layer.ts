import type { DataType, Optimizer, Tensor, TensorInfo, Variable } from '@tensorflow/tfjs-core';
import type { Defer } from '../tensor/deferred-tensor.js';
import type { FusedFunctions, FusedLayerCalls } from './fused-functions.js';
import type { ListMath } from './list-math.js';
import type { LocalShards, LocalShardsOptions } from './local-shards.js';
import type { DivideMemory } from './memory-parts.js';
import type { NativeDtype, NativeTensor } from '../tensor/native-tensor.js';
import type { ShardsLayer } from './shards.js';
import type { Recorder } from './recording.js';
import type { StateLayer } from './state-layer.js';

/** Converts between tfjs tensors of a backend and native tensors. */
export interface TensorBridge {
  /**
   * A native tensor with the values of `x`. A contiguous libtorch tensor shares its memory; other
   * tensors are copied. The caller disposes the result. `x` keeps its owner.
   *
   * @throws AccError `ACC_NOT_NATIVE` for strings.
   */
  toNative(x: Tensor): NativeTensor;
  /**
   * The libtorch tensor behind `x`, with any strides. `x` remains its owner. Absent if tensors are
   * not in libtorch.
   */
  borrow?(x: Tensor): NativeTensor;
  /**
   * Tensors with the values of `xs`, which it takes over. Each result is row-major, has the element
   * type of its dtype, and is in libtorch memory that nothing else shares. Tensors of `xs` that
   * already meet this are returned unchanged. Present only together with `borrow`.
   */
  writable?(xs: readonly Tensor[]): Tensor[];
  /**
   * A tfjs tensor on the active backend that takes over `native`. A native tensor of an unknown
   * class is read by its `read`. The caller owns the result.
   */
  fromNative(native: NativeTensor, dtype: DataType): Tensor;
}

/**
 * The slots of a tfjs backend that higher layers use: those that it has registered, and portable
 * ones for the rest.
 */
export interface KernelLayer extends TensorBridge {
  /** The name of the backend in tfjs: `acc`, `cpu`, `tensorflow`. */
  readonly backendName: string;
  /** The device of its tensors: `cpu`, `cuda:0`. */
  readonly device: string;
  readonly lists: ListMath;
  readonly state: StateLayer;
  /** Empty if the backend has no fused functions. */
  readonly functions: FusedFunctions;
  /** Empty if the backend has no fused layers. */
  readonly layerCalls: FusedLayerCalls;
  /**
   * A function that replaces `optimizer.applyGradients`: same weights, state and errors, but
   * faster. It is only called while the backend is active. Undefined for an optimizer that the
   * backend cannot accelerate, and for one whose class or own method may do something else.
   */
  fusedApply?(optimizer: Optimizer): Optimizer['applyGradients'] | undefined;
  /**
   * Makes layers of a model, and layers within them, compute by the {@link layerCalls} of the
   * backend that is active in each call. Layers of users' classes, and layers whose `call` was
   * replaced, are not changed. Returns a function that restores the layers.
   */
  fuseLayers(layers: readonly unknown[]): () => void;
  /**
   * Makes a LayersModel free, in training, the activations between its layers as soon as no layer
   * needs them.
   *
   * @returns A function that restores the model.
   */
  freeActivations(model: object): () => void;
  /** Absent if every tensor of the backend has its values in memory. */
  readonly defer?: Defer;
  /** Absent if tensors of the backend cannot share memory in which values change. */
  readonly divideMemory?: DivideMemory;
  /**
   * Makes the peak of the memory in `tf.memory()` count from now on. Absent if the backend does not
   * measure its memory.
   */
  readonly resetPeakMemory?: () => void;
  /** Records the computations of a step to repeat them. Absent if the backend cannot record. */
  readonly recorder?: Recorder;
  /** Absent if the backend computes in float32 only. */
  readonly precision?: PrecisionLayer;
  /** Absent if all random numbers are drawn in JavaScript. */
  readonly random?: RandomLayer;
  /**
   * Makes equal calls give equal bits in every run: one thread for each kernel, and no kernel
   * selected by measurement. Absent if the backend cannot do that.
   */
  fixResults?(): FixedResults;
  /**
   * Creates tensors of which each rank has a shard. Absent if the backend needs every tensor in
   * memory.
   */
  localShards?(options: LocalShardsOptions): LocalShards;
}

/** The backend's own random generator, which is independent of the seeds of tfjs. */
export interface RandomLayer {
  /** Restarts the generator from a seed. */
  seed(seed: number): void;
  /** The state of the generator, int32 `[n]`. The caller disposes it. */
  state(): Tensor;
  /** Sets the state of the generator. Returns the previous state, which the caller disposes. */
  exchange(state: Tensor): Tensor;
}

export interface FixedResults {
  readonly shards: ShardsLayer;
  /** Seeds the random numbers that kernels draw from now on. `seed` is an integer. */
  seed(seed: number): void;
  /** Ends the fixed mode. */
  restore(): void;
}

/** The element types behind tfjs's `float32`. */
export interface PrecisionLayer {
  /** The native dtype behind `x`. Undefined for a tensor without values. */
  dtypeOf(x: TensorInfo): NativeDtype | undefined;
  /**
   * `x` with `dtype` behind its tfjs dtype `float32`. The cast is on the tape, and its gradient is
   * converted back. A variable is converted once for all calls until its value changes. The caller
   * disposes the result.
   */
  cast(x: Tensor, dtype: NativeDtype): Tensor;
  /**
   * Why the device cannot compute in the 16-bit type. Returns undefined if it can. Absent: it can
   * compute in both.
   */
  lowerProblem?(dtype: 'bfloat16' | 'float16'): string | undefined;
  /**
   * Lets float32 kernels save tensors for their gradients in `dtype` from now on. Undefined: in
   * float32.
   */
  keepIn(dtype: NativeDtype | undefined): void;
  /**
   * Sets how float32 products and convolutions compute from now on, in the whole process.
   * Undefined: libtorch's default.
   *
   * @throws AccError `ACC_PRECISION_UNSUPPORTED` if the device lacks the precision.
   */
  setFloat32Precision(precision: Float32Precision | undefined): void;
  /**
   * How the device multiplies matrices that it rounds to 8-bit integers: by instructions of its own, or by
   * float32 products with the same results. Absent, or undefined: it cannot.
   */
  int8Products?(): 'instructions' | 'float32' | undefined;
  /** Whether the values of `x` are stored in fewer bits, as those of a quantized weight. Absent: never. */
  isPacked?(x: TensorInfo): boolean;
  /** Whether a variable belongs to fake quantization, so a layer rounds it before a product. Absent: never. */
  isFakeQuantized?(variable: Variable): boolean;
  /**
   * Multiplies two small matrices of 8-bit floats on the device. Returns the reason of a failure,
   * or undefined if it succeeded.
   */
  float8Problem(): string | undefined;
}

/**
 * `ieee`: full float32. `tf32`: factors are rounded to 10 mantissa bits (NVIDIA GPUs since Ampere).
 * `bf16`: to 7 mantissa bits (CPUs with bfloat16 instructions). Sums remain float32.
 */
export type Float32Precision = 'ieee' | 'tf32' | 'bf16';
