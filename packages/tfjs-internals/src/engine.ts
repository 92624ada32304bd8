import {
  engine,
  type DataId,
  type KernelBackend,
  type NamedTensorMap,
  type Tensor,
  type TensorContainer,
  type TensorInfo,
  type Variable,
} from '@tensorflow/tfjs-core';
import { tensorInternals } from './tensor.js';

/** One operator on tfjs's tape. */
export interface TapeNode {
  readonly id: number;
  readonly kernelName: string;
  readonly inputs: NamedTensorMap;
  readonly outputs: Tensor[];
  readonly saved?: Tensor[];
  /**
   * `asked`: the inputs whose gradients are requested. tfjs does not pass it, and its own nodes
   * ignore it.
   */
  readonly gradient?: (
    dys: readonly (Tensor | null)[],
    asked?: readonly (readonly [name: string, input: Tensor])[],
  ) => Record<string, () => Tensor>;
}

export interface GradientsResult {
  value: Tensor;
  grads: (Tensor | null)[];
}

export type GradientsFunction = (
  f: () => Tensor,
  xs: Tensor[],
  dy?: Tensor | null,
  allowNoGradients?: boolean,
) => GradientsResult;

export type RunKernel = (kernelName: string, inputs: NamedTensorMap, attrs?: object) => unknown;

/** An operator with its own gradient function, as `customGrad` passes it to the engine. */
export interface CustomOperator {
  readonly inputs: NamedTensorMap;
  readonly forwardFunc: (backend: unknown, save: (tensors: Tensor[]) => void) => unknown;
}

export interface KernelInvocation {
  readonly kernelName: string;
  readonly inputs: NamedTensorMap;
}

export type RunKernelFunc = (params: CustomOperator | KernelInvocation) => unknown;

/** The scope of a `tidy` or of an operator. */
export interface EngineScope {
  readonly id: number;
  readonly name: string;
  /** The tensors that are disposed at the end of the scope. */
  readonly track: Tensor[];
}

export interface EngineState {
  /** The nodes that `gradients` records. Null or undefined outside of it. */
  activeTape: TapeNode[] | null | undefined;
  nextTapeNodeId: number;
  /** The number of nested gradient computations. */
  gradientDepth: number;
  /** The number of nested kernels that are running. */
  kernelDepth: number;
  /** Whether `tf.profile` is running. */
  readonly profiling: boolean;
  readonly numTensors: number;
  readonly registeredVariables: Record<string, Variable>;
  readonly scopeStack: readonly EngineScope[];
  readonly activeScope: EngineScope;
  /** The backend that holds each tensor's data. */
  readonly tensorInfo: WeakMap<DataId, { readonly backend: KernelBackend }>;
}

/**
 * The members of tfjs-core's Engine that the packages read, call or patch. Most are missing from
 * its public types.
 */
export interface EngineInternals {
  gradients: GradientsFunction;
  startTape(): void;
  endTape(): void;
  isTapeOn(): boolean;
  tidy<T>(name: string, f: () => T): T;
  scopedRun<T>(start: () => void, end: () => void, f: () => T): T;
  startScope(name?: string): void;
  endScope(result?: TensorContainer): void;
  runKernel: RunKernel;
  runKernelFunc: RunKernelFunc;
  /** Puts an operator that has run on the active tape. */
  addTapeNode(
    kernelName: string,
    inputs: NamedTensorMap,
    outputs: Tensor[],
    gradient: ((dys: Tensor[], saved: Tensor[]) => unknown) | null,
    saved: Tensor[],
    attrs: object,
  ): void;
  clone(tensor: Tensor): Tensor;
  /** Chooses the inputs and outputs of a kernel that its gradient function needs. */
  getTensorsForGradient(kernelName: string, inputs: NamedTensorMap, outputs: Tensor[]): Tensor[];
  /** Copies the tensors that a gradient function needs, so that they outlive their scope. */
  saveTensorsForBackwardMode(tensors: Tensor[]): Tensor[];
  makeTensorFromTensorInfo(info: TensorInfo, backend: KernelBackend): Tensor;
  /**
   * Registers `tensor` again in the current scope, on `backend` or, if that is null, on the active
   * backend.
   */
  incRef(tensor: Tensor, backend: KernelBackend | null): void;
  /** Registers a new tensor, or one whose data was replaced. */
  trackTensor(tensor: Tensor, backend: KernelBackend | null): void;
  makeVariable(initialValue: Tensor, ...rest: unknown[]): Variable;
  disposeVariable(variable: Variable): void;
  /** Keeps `tensor` when its scope ends. */
  keep(tensor: Tensor): Tensor;
  /** Releases the data of `tensor`, which stays in the engine's scopes. */
  disposeTensor(tensor: Tensor): void;
  moveData(backend: KernelBackend, dataId: DataId): void;
  setBackend(name: string): Promise<boolean>;
  /** Creates a registered backend and puts it into the registry, if need be later. */
  initializeBackend(name: string): unknown;
  readonly backendInstance: KernelBackend | null | undefined;
  /** The backends that exist, by name. */
  readonly registry: Readonly<Record<string, KernelBackend | undefined>>;
  readonly state: EngineState;
}

/** The engine of this program's tfjs-core. */
export function engineInternals(): EngineInternals {
  return engine() as unknown as EngineInternals;
}

/**
 * Lets the next tensor and the next variable have the number `id`, unless a greater one is in use. A
 * variable without a name is named by its number.
 */
export function countIdsFrom(id: number): void {
  const counters = engine().constructor as unknown as { nextTensorId: number; nextVariableId: number };
  counters.nextTensorId = Math.max(id, counters.nextTensorId);
  counters.nextVariableId = Math.max(id, counters.nextVariableId);
}

/** The number of nested gradient computations that tfjs is running. */
export function gradientDepth(): number {
  return engineInternals().state.gradientDepth;
}

/**
 * Runs `compute` as if no gradient were being computed and no kernel were running. Its operators
 * are not recorded on the tape.
 */
export function besideTape<T>(compute: () => T): T {
  const { state } = engineInternals();
  const { activeTape, gradientDepth, kernelDepth } = state;
  state.activeTape = null;
  state.gradientDepth = 0;
  state.kernelDepth = 0;
  try {
    return compute();
  } finally {
    state.activeTape = activeTape;
    state.gradientDepth = gradientDepth;
    state.kernelDepth = kernelDepth;
  }
}

/** Calls `around` with each part of the gradient function of `node`, which computes gradients when it runs. */
export function aroundGradient(
  node: { gradient?: TapeNode['gradient'] },
  around: <T>(compute: () => T) => T,
): void {
  const { gradient } = node;
  if (!gradient) return;
  node.gradient = (dys, asked) => {
    const functions = Object.entries(around(() => gradient(dys, asked)));
    return Object.fromEntries(functions.map(([name, compute]) => [name, () => around(compute)] as const));
  };
}

/**
 * Makes the disposed `tensor` usable again, with the data of `value`, until it is disposed again.
 * The caller still owns `value`.
 */
export function reviveWith(tensor: Tensor, value: Tensor): void {
  const revived = tensorInternals(tensor);
  revived.dataId = value.dataId;
  revived.isDisposedInternal = false;
  engineInternals().incRef(tensor, null);
}

/**
 * Gives `tensor` the data of `value` in place of its own. The scope that disposes it stays the same.
 * The caller still owns `value`.
 */
export function replaceData(tensor: Tensor, value: Tensor): void {
  const tfjs = engineInternals();
  const replaced = tensorInternals(tensor);
  const { scopeId } = replaced;
  tfjs.disposeTensor(tensor);
  replaced.dataId = value.dataId;
  tfjs.incRef(tensor, null);
  // incRef adds the tensor to the current scope.
  const { track } = tfjs.state.activeScope ?? {};
  if (track?.at(-1) === tensor) track.pop();
  replaced.scopeId = scopeId;
}
