import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { Kernels } from '../kernels.js';
import type { LocalTensors } from '../local-tensors.js';
import type { KernelCall, LocalPlan } from '../run-on-local.js';
import type { CallAttrs } from '../signature.js';

export interface SpecialContext {
  /** Kernels for tensors that this rank has. */
  readonly kernels: Kernels;
  readonly shards: LocalTensors;
  /** A kernel for tensors that may be cut. The caller owns the result. */
  run(name: string, inputs: Readonly<Record<string, TensorInfo>>, attrs?: object): TensorInfo;
  /** How a kernel runs on the shards of these inputs, or why it cannot. */
  planOf(name: string, inputs: Readonly<Record<string, TensorInfo>>, attrs: CallAttrs): LocalPlan | string;
  /** Runs a kernel by a plan. The caller owns the result. */
  runPlanned(name: string, inputs: Readonly<Record<string, TensorInfo>>, plan: LocalPlan): TensorInfo;
}

/** A kernel that exchanges values with other ranks, or that is not computed shard by shard. */
export interface Special {
  /** For a call with a cut input. Undefined: the rule of the kernel is used. */
  whenSharded?(context: SpecialContext, call: KernelCall): TensorInfo | TensorInfo[] | undefined;
  /** For a call whose inputs are all whole. Undefined: the kernel itself is used. */
  ofWhole?(context: SpecialContext, call: KernelCall): TensorInfo | TensorInfo[] | undefined;
}
