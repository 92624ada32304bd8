import { engine, type NamedTensorMap, type Tensor } from '@tensorflow/tfjs-core';

/** One operator on tfjs's tape. */
export interface TapeNode {
  readonly id: number;
  readonly kernelName: string;
  readonly inputs: NamedTensorMap;
  readonly outputs: Tensor[];
  readonly saved?: Tensor[];
  /** `asked`: the inputs whose gradients are wanted, which tfjs doesn't say; nodes of tfjs take no notice of it. */
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

/** The members of tfjs-core's Engine that the driver works with. They are not in its public types; 4.x has them all. */
export interface EngineInternals {
  gradients: GradientsFunction;
  startTape(): void;
  endTape(): void;
  tidy<T>(name: string, f: () => T): T;
  scopedRun<T>(start: () => void, end: () => void, f: () => T): T;
  isTapeOn(): boolean;
  /** One more tensor of the data of `a`: `a` itself, which the scope of now frees. */
  incRef(a: Tensor, backend: null): void;
  readonly state: {
    activeTape: TapeNode[] | null;
    nextTapeNodeId: number;
    readonly gradientDepth: number;
    readonly kernelDepth: number;
    readonly profiling: boolean;
    readonly numTensors: number;
    readonly activeScope: { readonly id: number };
  };
}

export function engineInternals(): EngineInternals {
  return engine() as unknown as EngineInternals;
}
