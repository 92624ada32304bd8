import { engine, type NamedTensorMap, type Tensor } from '@tensorflow/tfjs-core';

/** One operator on tfjs's tape. */
export interface TapeNode {
  readonly id: number;
  readonly kernelName: string;
  readonly inputs: NamedTensorMap;
  readonly outputs: Tensor[];
  readonly saved?: Tensor[];
  readonly gradient?: (dys: readonly (Tensor | null)[]) => Record<string, () => Tensor>;
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
  readonly state: {
    activeTape: TapeNode[] | null;
    readonly gradientDepth: number;
    readonly profiling: boolean;
    readonly numTensors: number;
    readonly activeScope: { readonly id: number };
  };
}

export function engineInternals(): EngineInternals {
  return engine() as unknown as EngineInternals;
}
