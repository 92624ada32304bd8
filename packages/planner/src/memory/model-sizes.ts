import type { Architecture, SizedTensor } from './architecture.js';
import { factoredElements } from './optimizers.js';

/** The sizes of a model that an estimate needs. */
export interface ModelSizes {
  /** The number of parameters, buffers left out. */
  readonly parameters: number;
  /** The number of parameters that have gradients and optimizer state. */
  readonly trainable: number;
  /** The number of parameters of each layer, in their order. Undefined: the layers are not known. */
  readonly layerSizes: readonly number[] | undefined;
  /** The elements of the largest trained tensor. Undefined: the tensors are not known. */
  readonly largestTensor: number | undefined;
  /** The elements of Adafactor's state. Undefined: the tensors are not known. */
  readonly factored: number | undefined;
  /** Undefined: activations are not known. */
  readonly architecture: Architecture | undefined;
}

export function sizesOf(tensors: readonly SizedTensor[], architecture: Architecture | undefined): ModelSizes {
  const trained = tensors.filter(({ isTrainable }) => isTrainable);
  const units = new Map<string, number>();
  for (const { unit, shape } of tensors) units.set(unit, (units.get(unit) ?? 0) + elementsOf(shape));
  return {
    parameters: total(tensors, elementsOf),
    trainable: total(trained, elementsOf),
    layerSizes: [...units.values()],
    largestTensor: trained.reduce((most, { shape }) => Math.max(most, elementsOf(shape)), 0),
    factored: total(trained, factoredElements),
    architecture,
  };
}

/** The `count` largest units together, if layers that follow each other are joined up to `most` parameters. */
export function largestUnits(layerSizes: readonly number[], most: number, count: number): number {
  const units: number[] = [];
  for (const size of layerSizes) {
    const last = units.at(-1);
    if (last !== undefined && last + size <= most) units[units.length - 1] = last + size;
    else units.push(size);
  }
  return units
    .toSorted((a, b) => b - a)
    .slice(0, count)
    .reduce((sum, size) => sum + size, 0);
}

export const elementsOf = (shape: readonly number[]): number =>
  shape.reduce((count, size) => count * size, 1);

function total(tensors: readonly SizedTensor[], sizeOf: (shape: readonly number[]) => number): number {
  return tensors.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
}
