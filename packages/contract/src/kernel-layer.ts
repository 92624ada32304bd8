import type { DataType, Optimizer, Tensor } from '@tensorflow/tfjs-core';
import type { NativeTensor } from './native-tensor.js';

/** The way between tfjs tensors of some backend and native tensors. */
export interface TensorBridge {
  /**
   * A contiguous native tensor with the values of `x`. It shares memory with `x` where the backend is native and
   * `x` is contiguous, and is a copy elsewhere. The caller disposes it; `x` stays the owner of its own.
   */
  toNative(x: Tensor): NativeTensor;
  /** A tfjs tensor on the active backend that takes over `native`. Caller owns the result. */
  fromNative(native: NativeTensor, dtype: DataType): Tensor;
}

/** What a tfjs backend must offer to the layers above it. */
export interface KernelLayer extends TensorBridge {
  /** tfjs's name of the backend: `acc`, `cpu`, `tensorflow`. */
  readonly backendName: string;
  /** Where tensors live: `cpu`, `cuda:0`. */
  readonly device: string;
  /**
   * A function to be called in place of `optimizer.applyGradients`: the same weights, state and errors, in few native
   * calls that write in place. Undefined for an optimizer that the backend has no faster way for, and for one whose
   * class or whose own method may do something else.
   */
  fusedApply?(optimizer: Optimizer): Optimizer['applyGradients'] | undefined;
  /**
   * Lets layers of a model, and layers within them, compute by the backend's own kernels: the same numbers, random draws
   * aside, in forward and gradient. Layers for which the backend has nothing better are left alone, and so are those of
   * users' classes. Returns what gives the layers their own way back.
   */
  fuseLayers?(layers: readonly unknown[]): () => void;
  /** Writes down what a step computes, to repeat it. Absent where the backend cannot. */
  readonly recorder?: Recorder;
}

/**
 * What stays JavaScript in a recorded step: it is called again in each replay, with new tensors, which it borrows. What
 * it returns is of the same shapes each time.
 */
export type HostAction = (inputs: readonly Tensor[]) => readonly (Tensor | null)[];

/** Writes down the native calls of a step while it runs. */
export interface Recorder {
  /** True inside {@link record}. */
  readonly isRecording: boolean;
  /**
   * Runs `step`, a function of the tensors `args`, and records it. An error of `step` is the caller's; then nothing is
   * recorded.
   */
  record(args: readonly Tensor[], step: () => readonly Tensor[]): Recorded;
  /** Runs `action`, in a recorded step outside of the recording. */
  host(inputs: readonly Tensor[], action: HostAction): readonly (Tensor | null)[];
}

export interface Recorded {
  /** What the step has returned. */
  readonly results: readonly Tensor[];
  /** The recording, or why the step cannot be repeated. */
  readonly recording: Recording | string;
}

/** A step to be repeated. The owner disposes it. */
export interface Recording {
  /** In words, the first thing in which `other`, of the same step, differs; undefined for none. */
  differenceFrom(other: Recording): string | undefined;
  /** To be called before the first {@link replay}, and after the last {@link differenceFrom}. */
  seal(): void;
  /** Whether it may be replayed with `args`: what else the step took is still there. */
  fits(args: readonly Tensor[]): boolean;
  /**
   * The step again, with new `args` of the shapes and dtypes that it was recorded with. To be called in a tidy. The results
   * are the caller's.
   *
   * @returns Undefined, with nothing changed, when the calls before the first action fail: run the step itself, which
   * then says why.
   * @throws AccError `ACC_OPERATOR_FAILED`, `ACC_OUT_OF_MEMORY`, and what actions throw.
   */
  replay(args: readonly Tensor[]): readonly Tensor[] | undefined;
  dispose(): void;
}
