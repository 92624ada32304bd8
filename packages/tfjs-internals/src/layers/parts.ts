import type { LayerVariable } from './layer.js';

/** The members of a tfjs-layers layer that matter when it is a part of another layer. */
interface Part {
  _trainableWeights: LayerVariable[];
  _nonTrainableWeights: LayerVariable[];
  addWeight(name: string, ...rest: unknown[]): LayerVariable;
  build(inputShape: (number | null)[]): void;
}

/**
 * Builds a layer that is a part of another one. The names of its weights begin with `prefix`:
 * tfjs-layers itself only adds the name of the outer layer.
 */
export function buildPart(layer: object, prefix: string, inputShape: (number | null)[]): void {
  const part = layer as Part;
  const add = part.addWeight;
  part.addWeight = (name, ...rest) => add.call(part, `${prefix}/${name}`, ...rest);
  try {
    part.build(inputShape);
  } finally {
    delete (part as Partial<Part>).addWeight;
  }
}

/**
 * Makes the weights of the parts the weights of a layer, now and when the parts get others. So its
 * `trainable` and its lists of weights are those of the parts. The layer has no weights of its own.
 */
export function takeWeightsOf(layer: object, parts: () => readonly object[]): void {
  for (const list of ['_trainableWeights', '_nonTrainableWeights'] as const) {
    Object.defineProperty(layer, list, {
      configurable: true,
      get: () => parts().flatMap((part) => (part as Part)[list]),
      // A layer begins with an empty list.
      set: () => {},
    });
  }
}

interface AddedWeight {
  readonly shape: readonly number[];
  readonly initializer: object;
  /** False: the forward pass changes it, and no gradient does. Default true. */
  readonly trainable?: boolean;
}

/** Adds a weight to a layer that is built. Its name is `name`, without the name of the layer. */
export function addWeightTo(
  layer: object,
  name: string,
  { shape, initializer, trainable = true }: AddedWeight,
): LayerVariable {
  return (layer as Part).addWeight(name, [...shape], 'float32', initializer, null, trainable);
}

/** A model. After `compile`, it has the weights that it trains. */
interface Compiled {
  collectedTrainableWeights?: LayerVariable[];
}

/**
 * Takes weights from a layer. The caller disposes them.
 *
 * @param model The model with the layer. If it is compiled, it trains them no longer.
 */
export function removeWeightsFrom(
  layer: object,
  weights: readonly LayerVariable[],
  model?: Compiled & { readonly model?: Compiled },
): void {
  const without = (list: readonly LayerVariable[]) => list.filter((weight) => !weights.includes(weight));
  const part = layer as Part;
  part._trainableWeights = without(part._trainableWeights);
  // A tf.Sequential is trained by the model that it has within.
  for (const each of [model, model?.model]) {
    if (each?.collectedTrainableWeights)
      each.collectedTrainableWeights = without(each.collectedTrainableWeights);
  }
}

/**
 * Freezes a weight for good. tfjs-layers gives each weight of a model the `trainable` that the model
 * gets, also in `compile`.
 */
export function freezeWeight(weight: { read(): { trainable: boolean } }): void {
  weight.read().trainable = false;
  Object.defineProperty(weight, 'trainable', { configurable: true, get: () => false, set: () => {} });
}
