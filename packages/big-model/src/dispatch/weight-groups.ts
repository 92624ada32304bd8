import type { Variable } from '@tensorflow/tfjs-core';
import { isModel, nestedLayers } from '@acc/tfjs-internals';
import { notAModel, sameLayerNames } from '../errors.js';
import type { WeightGroup } from './device-map.js';

interface Layer {
  readonly name: string;
  readonly weights: readonly { read(): Variable }[];
}

/** A tfjs-layers model, or a list of variables. */
export type Weighted = object | readonly Variable[];

/**
 * The weights of each innermost layer, in the order of the model; single variables of a list.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function weightGroups(caller: string, model: Weighted): WeightGroup[] {
  if (isModel(model)) return groupsOf(model);
  if (!isVariables(model)) throw notAModel(caller);
  return model.map((variable) => ({ name: variable.name, weights: [variable] }));
}

/**
 * The groups for what refers to each by its name.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` also if two groups have the same name.
 */
export function namedGroups(caller: string, model: Weighted): WeightGroup[] {
  const groups = weightGroups(caller, model);
  const seen = new Set<string>();
  for (const { name } of groups) {
    if (seen.has(name)) throw sameLayerNames(caller, name);
    seen.add(name);
  }
  return groups;
}

function groupsOf(model: object): WeightGroup[] {
  const owners = new Map<Variable, Layer>();
  // Layers come before the layers within them, which take over their weights.
  for (const layer of nestedLayers([model]) as Iterable<Layer>) {
    for (const weight of layer.weights) owners.set(weight.read(), layer);
  }
  const groups = new Map<Layer, Variable[]>();
  for (const [variable, layer] of owners) groups.set(layer, [...(groups.get(layer) ?? []), variable]);
  return Array.from(groups, ([{ name }, weights]) => ({ name, weights }));
}

function isVariables(model: unknown): model is readonly Variable[] {
  const isVariable = (item: unknown) => typeof (item as Partial<Variable> | null)?.assign === 'function';
  return Array.isArray(model) && model.length > 0 && model.every(isVariable);
}
