import type { Architecture, SizedTensor } from './architecture.js';
import { factoredElements } from './optimizers.js';

/** What an estimate needs to know of a model. */
export interface ModelSizes {
  /** The number of parameters, buffers left out. */
  readonly parameters: number;
  /** Those that have gradients and optimizer state. */
  readonly trainable: number;
  /** The parameters of the two largest units together. Undefined: the units are not known. */
  readonly twoLargestUnits: number | undefined;
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
    twoLargestUnits: twoLargest([...units.values()]),
    largestTensor: trained.reduce((most, { shape }) => Math.max(most, elementsOf(shape)), 0),
    factored: total(trained, factoredElements),
    architecture,
  };
}

export function twoLargest(sizes: readonly number[]): number {
  const [first = 0, second = 0] = [...sizes].sort((a, b) => b - a);
  return first + second;
}

export const elementsOf = (shape: readonly number[]): number =>
  shape.reduce((count, size) => count * size, 1);

function total(tensors: readonly SizedTensor[], sizeOf: (shape: readonly number[]) => number): number {
  return tensors.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
}
