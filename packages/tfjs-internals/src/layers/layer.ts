import type { Tensor, Variable } from '@tensorflow/tfjs-core';

/**
 * The members of a tfjs-layers layer that the packages call and replace. Most are missing from its
 * public types.
 */
export interface LayerInternals {
  call: LayerCall;
  readonly stateful?: boolean;
  invokeCallHook(inputs: Tensor | Tensor[], kwargs: Kwargs): void;
}

export type LayerCall = (inputs: Tensor | Tensor[], kwargs: Kwargs) => Tensor | Tensor[];

/** The second argument of a layer's `call` and `apply`. */
export interface Kwargs {
  readonly training?: boolean | null;
  readonly mask?: unknown;
  readonly initialState?: Tensor[] | null;
}

/** A weight of a layer. */
export interface LayerVariable {
  read(): Tensor;
  write(value: Tensor): unknown;
}

interface AffineLayer extends LayerInternals {
  readonly kernel: LayerVariable;
  readonly bias: LayerVariable | null;
  readonly activation: ActivationObject | null;
}

export type DenseLayer = AffineLayer;

export interface Conv2DLayer extends AffineLayer {
  readonly dataFormat: string;
  readonly kernelSize: [number, number];
  readonly strides: [number, number];
  readonly padding: 'valid' | 'same' | 'causal';
  readonly dilationRate: [number, number];
}

export interface DropoutLayer extends LayerInternals {
  readonly rate: number;
  readonly noiseShape?: readonly (number | null)[] | null;
  readonly seed?: number | null;
}

export interface LayerNormalizationLayer extends LayerInternals {
  /** Counted from 0 after the layer is built. */
  readonly axis: readonly number[];
  readonly epsilon: number;
  readonly gamma: LayerVariable | null;
  readonly beta: LayerVariable | null;
}

export interface BatchNormalizationLayer extends LayerInternals {
  readonly axis: number;
  readonly momentum: number;
  readonly epsilon: number;
  readonly gamma?: LayerVariable;
  readonly beta?: LayerVariable;
  readonly movingMean: LayerVariable;
  readonly movingVariance: LayerVariable;
}

export interface RecurrentLayer extends LayerInternals {
  readonly cell: RecurrentCell;
  readonly goBackwards: boolean;
  readonly returnSequences: boolean;
  readonly returnState: boolean;
  /** The states of a stateful layer between batches. */
  readonly states_: Tensor[] | null;
  resetStates(states?: Tensor[], training?: boolean | null): void;
}

export interface RecurrentCell {
  readonly kernel: LayerVariable;
  readonly recurrentKernel: LayerVariable;
  readonly bias: LayerVariable | null;
  readonly activation: ActivationObject;
  readonly recurrentActivation: ActivationObject;
  dropout: number;
  readonly recurrentDropout: number;
  readonly dropoutFunc?: unknown;
  dropoutMask: Tensor | Tensor[] | null;
  recurrentDropoutMask: Tensor | Tensor[] | null;
}

/** A layer with weights that no gradient changes. */
export interface LayerWithBuffers {
  /** The weights that are never trained, also when the layer is frozen. */
  readonly _nonTrainableWeights?: readonly { read(): Variable }[];
}

export interface ActivationObject {
  getClassName(): string;
}
