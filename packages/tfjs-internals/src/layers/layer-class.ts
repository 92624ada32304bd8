import { serialization, type DataType, type Tensor } from '@tensorflow/tfjs-core';

interface Initializer {
  apply(shape: number[], dtype?: DataType): Tensor;
}

/** The members of tfjs-layers' class Layer that create weights. */
export interface LayerPrototype {
  /** Whether weights are created with the values of `fast`, since others are loaded next. */
  readonly fastWeightInitDuringBuild?: boolean;
  addWeight(
    name: string,
    shape: number[],
    dtype: DataType | undefined,
    initializer: Initializer,
    regularizer?: unknown,
    trainable?: boolean,
    constraint?: unknown,
    fast?: () => Initializer,
  ): unknown;
}

/** The prototype of the class Layer. Undefined if no tfjs-layers is loaded. */
export function layerPrototype(): LayerPrototype | undefined {
  const registered = serialization.SerializationMap.getMap().classNameMap['Dense'];
  let prototype = (registered?.[0] as { readonly prototype: object } | undefined)?.prototype ?? null;
  while (prototype && !Object.hasOwn(prototype, 'addWeight')) {
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  return (prototype as LayerPrototype | null) ?? undefined;
}
