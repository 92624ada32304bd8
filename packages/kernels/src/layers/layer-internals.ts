import { serialization, type Tensor } from '@tensorflow/tfjs-core';

/** The members of tfjs-layers' layers that are worked with. Most are not in its public types; 4.x has them all. */
export interface LayerInternals {
  call: LayerCall;
  readonly stateful?: boolean;
  invokeCallHook(inputs: Tensor | Tensor[], kwargs: Kwargs): void;
}

export type LayerCall = (inputs: Tensor | Tensor[], kwargs: Kwargs) => Tensor | Tensor[];

export interface Kwargs {
  readonly training?: boolean | null;
  readonly mask?: unknown;
  readonly initialState?: Tensor[] | null;
}

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
  /** From 0, once built. */
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
  /** Of a stateful layer, between batches. */
  readonly states_: Tensor[] | null;
  resetStates(states: Tensor[], training?: boolean | null): void;
}

export interface RecurrentCell {
  readonly kernel: LayerVariable;
  readonly recurrentKernel: LayerVariable;
  readonly bias: LayerVariable | null;
  readonly activation: ActivationObject;
  readonly recurrentActivation: ActivationObject;
  readonly dropout: number;
  readonly recurrentDropout: number;
  readonly dropoutFunc?: unknown;
  dropoutMask: Tensor | Tensor[] | null;
  recurrentDropoutMask: Tensor | Tensor[] | null;
}

export interface ActivationObject {
  getClassName(): string;
}

/**
 * The name of an object's class, when it is the one that tfjs has under that name. A subclass is not, nor is a class of
 * a user's with the same name: what they compute is their own affair.
 */
export function ownClassName(object: object): string | undefined {
  const { constructor } = object as { readonly constructor: { readonly className?: string } };
  if (!Object.hasOwn(constructor, 'className')) return undefined;
  const { className } = constructor;
  const registered = serialization.SerializationMap.getMap().classNameMap[className!];
  return registered?.[0] === constructor ? className : undefined;
}

export const isOwnClass = (object: object, className: string): boolean => ownClassName(object) === className;
