import type { Variable } from '@tensorflow/tfjs-core';
import { AccError, matchesGlob } from '@acc/contract';
import { listedFor, packedOf, recordBytes } from '@acc/kernels';
import { FLOAT_BYTES } from '@acc/placement';
import { buffersOf, nestedLayers } from '@acc/tfjs-internals';
import type { ResolvedFsdpOptions, WrapBySize } from './options.js';

/** The members of a tfjs-layers layer that wrap policies read. */
interface Layer {
  readonly name: string;
  readonly weights: readonly { read(): Variable }[];
  getClassName?(): string;
}

/**
 * Divides variables into units. Variables keep their order within a unit, and units the order of
 * their first variables.
 *
 * @param variables Those to divide.
 * @param layers The layers that they belong to, if any.
 * @throws AccError `ACC_INVALID_OPTION` for lists that repeat a variable.
 */
export function unitsOf(
  variables: readonly Variable[],
  layers: readonly unknown[],
  { wrap, bucketBytes }: Pick<ResolvedFsdpOptions, 'wrap' | 'bucketBytes'>,
): Variable[][] {
  if (wrap === 'layer')
    return joined(
      byOwner(
        variables,
        ownersIn(layers, () => true),
        'apart',
      ),
      bucketBytes,
    );
  if (typeof wrap === 'function') return byOwner(variables, ownersIn(layers, wrap), 'together');
  if (!('minParams' in wrap)) return byList(variables, wrap);
  const isLarge = (layer: Layer) => countOf(layer) >= wrap.minParams && !isExcluded(layer, wrap);
  if (layers.length > 0) return byOwner(variables, ownersIn(layers, isLarge as never), 'together');
  return bySize(variables, wrap.minParams);
}

/** Weights of layers that are frozen. Statistics, which the layers change themselves, are not. */
export function frozenIn(layers: readonly unknown[]): Set<Variable> {
  const statistics = new Set(buffersOf(layers));
  const variables = ({ weights = [] }: Partial<Layer>) => weights.map((weight) => weight.read());
  const all = [...nestedLayers(layers)].flatMap(variables);
  return new Set(all.filter((variable) => !variable.trainable && !statistics.has(variable)));
}

/** The innermost layer of each variable for which `isUnit` is true. */
function ownersIn(layers: readonly unknown[], isUnit: (layer: object) => boolean): Map<Variable, object> {
  const owners = new Map<Variable, object>();
  // Layers come before the layers within them, which take over their variables.
  for (const layer of nestedLayers(layers)) {
    if (!isUnit(layer)) continue;
    for (const weight of (layer as Layer).weights) owners.set(weight.read(), layer);
  }
  return owners;
}

/** @param rest Whether variables without an owner are units of one variable, or one unit. */
function byOwner(
  variables: readonly Variable[],
  owners: ReadonlyMap<Variable, object>,
  rest: 'apart' | 'together',
): Variable[][] {
  const units = new Map<unknown, Variable[]>();
  for (const variable of variables) {
    const key = owners.get(listedFor(variable)) ?? (rest === 'apart' ? variable : undefined);
    const unit = units.get(key);
    if (unit) unit.push(variable);
    else units.set(key, [variable]);
  }
  return [...units.values()];
}

function byList(variables: readonly Variable[], lists: readonly (readonly Variable[])[]): Variable[][] {
  const owners = new Map<Variable, object>();
  for (const list of lists) {
    for (const variable of list) {
      if (owners.has(variable))
        throw new AccError('ACC_INVALID_OPTION', `fsdp.wrap lists the variable '${variable.name}' twice.`, {
          help: 'Name each variable in one list.',
        });
      owners.set(variable, list);
    }
  }
  return byOwner(variables, owners, 'together');
}

function bySize(variables: readonly Variable[], minParams: number): Variable[][] {
  const units: Variable[][] = [];
  let size = minParams;
  for (const variable of variables) {
    if (size >= minParams) {
      units.push([]);
      size = 0;
    }
    units.at(-1)!.push(variable);
    size += variable.size;
  }
  return units;
}

/** Joins units that follow each other while they have at most `bytes` together. */
function joined(units: readonly Variable[][], bytes: number): Variable[][] {
  const result: Variable[][] = [];
  let size = Infinity;
  for (const unit of units) {
    const local = unit.reduce((sum, variable) => sum + bytesOf(variable), 0);
    if (size + local <= bytes) {
      result.at(-1)!.push(...unit);
      size += local;
    } else {
      result.push([...unit]);
      size = local;
    }
  }
  return result;
}

/** The bytes of all elements as they travel. */
function bytesOf(variable: Variable): number {
  const packed = packedOf(variable);
  return packed ? recordBytes(packed.records) : FLOAT_BYTES * variable.size;
}

function countOf({ weights }: Layer): number {
  return weights.reduce((sum, weight) => sum + weight.read().size, 0);
}

function isExcluded(layer: Layer, { exclude = [] }: WrapBySize): boolean {
  const names = [layer.name, layer.getClassName?.()];
  return exclude.some((pattern) => names.some((name) => name !== undefined && matchesGlob(name, pattern)));
}
