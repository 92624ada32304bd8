import type { DataType, Optimizer, Tensor, TensorInfo } from '@tensorflow/tfjs-core';
import type { FusedFunctions, FusedLayerCalls } from './fused-functions.js';
import type { ListMath } from './list-math.js';
import type { NativeDtype, NativeTensor } from './native-tensor.js';
import type { PiecesLayer } from './pieces.js';
import type { Recorder } from './recording.js';
import type { StateLayer } from './state-layer.js';

/** The way between tfjs tensors of some backend and native tensors. */
export interface TensorBridge {
  /**
   * A native tensor with the values of `x`. A contiguous tensor of libtorch shares its memory; others are copies. The caller
   * disposes it; `x` stays the owner of its own.
   *
   * @throws AccError `ACC_NOT_NATIVE` for strings.
   */
  toNative(x: Tensor): NativeTensor;
  /** libtorch's tensor behind `x`, of any strides. Absent where tensors lie elsewhere. `x` stays the owner. */
  borrow?(x: Tensor): NativeTensor;
  /**
   * Tensors with the values of `xs`, which it takes over: each row-major, of the element type of its dtype, and in memory of
   * libtorch that nothing else sees. Those of `xs` that are so are returned themselves. There is one with `borrow` only.
   */
  writable?(xs: readonly Tensor[]): Tensor[];
  /**
   * A tfjs tensor on the active backend that takes over `native`, which may be anybody's: what is not known by its class is known
   * by `read`. Caller owns the result.
   */
  fromNative(native: NativeTensor, dtype: DataType): Tensor;
}

/** What the layers above use of a tfjs backend: what it has registered, and the portable way for the rest. */
export interface KernelLayer extends TensorBridge {
  /** tfjs's name of the backend: `acc`, `cpu`, `tensorflow`. */
  readonly backendName: string;
  /** Where tensors live: `cpu`, `cuda:0`. */
  readonly device: string;
  readonly lists: ListMath;
  readonly state: StateLayer;
  /** Empty where the backend has no fused functions. */
  readonly functions: FusedFunctions;
  /** Empty where the backend has no fused layers. */
  readonly layerCalls: FusedLayerCalls;
  /**
   * A function to be called in place of `optimizer.applyGradients`: the same weights, state and errors, faster. It is called while
   * the backend is active only. Undefined for an optimizer that the backend has no faster way for, and for one whose class or
   * whose own method may do something else.
   */
  fusedApply?(optimizer: Optimizer): Optimizer['applyGradients'] | undefined;
  /**
   * Lets layers of a model, and layers within them, compute by the {@link layerCalls} of the backend that is active in each call.
   * Layers of users' classes, and those whose `call` was replaced, are left alone. Returns what gives the layers their own way
   * back.
   */
  fuseLayers(layers: readonly unknown[]): () => void;
  /**
   * Has a LayersModel free, in training, what lies between its layers as soon as no layer takes it any more.
   *
   * @returns Gives the model its own way back.
   */
  freeActivations(model: object): () => void;
  /** Writes down what a step computes, to repeat it. Absent where the backend cannot. */
  readonly recorder?: Recorder;
  /** Absent where the backend computes in float32 only. */
  readonly precision?: PrecisionLayer;
  /** Absent where all random numbers are drawn in JavaScript. */
  readonly random?: RandomLayer;
  /**
   * Has the same call give the same bits in every run: one thread for each kernel, and no kernel chosen by measuring. Absent
   * where the backend cannot.
   */
  fixResults?(): FixedResults;
}

/** The random generator of the backend's own, which tfjs's seeds don't reach. */
export interface RandomLayer {
  /** Begins anew. */
  seed(seed: number): void;
  /** Its state, int32 numbers `[n]`. Caller disposes. */
  state(): Tensor;
  /** Goes on from `state`. Gives the state before; caller disposes. */
  exchange(state: Tensor): Tensor;
}

export interface FixedResults {
  readonly pieces: PiecesLayer;
  /** What kernels draw from now on follows from `seed`, a whole number. */
  seed(seed: number): void;
  /** Ends it. */
  restore(): void;
}

/** Element types behind tfjs's `float32`. */
export interface PrecisionLayer {
  /** The native dtype behind `x`; undefined for what has no values. */
  dtypeOf(x: TensorInfo): NativeDtype | undefined;
  /**
   * `x` with `dtype` behind its tfjs dtype `float32`. On the tape; the gradient is converted back. A variable is converted
   * once for all calls until it has another value. Caller disposes.
   */
  cast(x: Tensor, dtype: NativeDtype): Tensor;
  /** From now on kernels that compute in float32 may keep what their gradient needs in `dtype`; undefined: in float32. */
  keepIn(dtype: NativeDtype | undefined): void;
  /**
   * How products and convolutions of float32 compute from now on, in the whole process; undefined: as libtorch does by itself.
   *
   * @throws AccError `ACC_PRECISION_UNSUPPORTED` for one that the device does not have.
   */
  setFloat32Precision(precision: Float32Precision | undefined): void;
  /** Multiplies two small matrices of 8-bit floats on the device. Returns why it could not; undefined where it could. */
  float8Problem(): string | undefined;
}

/**
 * `ieee`: float32 as such. `tf32`: factors rounded to 10 bits after the point (NVIDIA from Ampere on). `bf16`: to 7 bits
 * (CPUs with bfloat16 instructions). Sums stay float32.
 */
export type Float32Precision = 'ieee' | 'tf32' | 'bf16';
