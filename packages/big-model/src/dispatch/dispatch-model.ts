import { backend, getBackend, type Variable } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import { kernelLayerOf, packedOf } from '@acc/kernels';
import { emptyWeightOf, EmptyLoan } from '../empty/empty-weight.js';
import { alreadyDispatched, cannotDefer, packedWeight } from '../errors.js';
import { isOffloadable } from '../value-bytes.js';
import { byteLength, deviceMap, followedMap, type DeviceMap, type WeightGroup } from './device-map.js';
import { bytesForWeights } from '#platform/host-memory';
import { OffloadedWeight } from './offloaded-weight.js';
import { abandon, bringBack, isOffloaded, offloadedWeights } from './offloaded-weights.js';
import { hasLimits, resolveLimits, type DispatchOptions, type Limits } from './options.js';
import { onHost, PlacesOnDisk, type Place } from './places.js';
import { Residency } from './residency.js';
import { namedGroups, weightGroups, type Weighted } from './weight-groups.js';

/** Where the weights of a model will be. */
export interface Dispatch extends Disposable {
  /** Moves weights out of memory. If it throws, they stay where they are. */
  apply(): void;
  /** Gives weights their memory back. */
  undo(): void;
  /**
   * Lets weights go that were to be replaced and were not. Those that were empty are empty again. The
   * others have no values if they had left memory.
   */
  abandon(): void;
}

export interface Circumstances {
  /**
   * Whether the weights are about to be assigned other values. Then those that leave memory are not
   * stored, and have no values until then. Default false.
   */
  readonly areReplaced?: boolean;
  /** The processes that share the memory of this host. Default 1. */
  readonly processes?: number;
}

/** Plans where the weights of a model are. Changes nothing. */
export function planDispatch(
  caller: string,
  model: Weighted,
  options: DispatchOptions,
  { areReplaced = false, processes = 1 }: Circumstances = {},
): Dispatch {
  const kernels = kernelLayerOf(getBackend(), backend());
  const limits = resolveLimits(caller, options, kernels.device);
  const groupsOf = limits.map ? namedGroups : weightGroups;
  const groups = groupsOf(caller, model).map(offloadablePart);
  const offloaded = groups.flatMap(({ weights }) => weights.filter(isOffloaded));
  if (offloaded.length > 0) {
    // New values go where the weights are.
    if (areReplaced && !hasLimits(caller, options)) return staying();
    throw alreadyDispatched(caller, offloaded[0]!.name);
  }
  const packed = groups.flatMap(({ weights }) => weights).find((weight) => packedOf(weight));
  if (packed) throw packedWeight(caller, packed.name);
  const map = mapOf(groups, limits, kernels, { areReplaced, processes });
  const outside = [...map.onHost, ...map.onDisk];
  if (outside.length > 0 && !kernels.defer) throw cannotDefer(caller, kernels.backendName);
  const moving = { kernels, folder: limits.folder ?? '', areReplaced };
  const all = groups.flatMap(({ weights }) => weights);
  let empty: EmptyLoan | undefined;
  return {
    apply() {
      if (areReplaced) empty = new EmptyLoan(all);
      if (outside.length > 0) moveOut(map, moving);
    },
    undo: () => bringBack(outside),
    abandon() {
      abandon(outside);
      empty?.giveBack();
    },
    [Symbol.dispose]: () => empty?.[Symbol.dispose](),
  };
}

function mapOf(
  groups: readonly WeightGroup[],
  limits: Limits,
  kernels: KernelLayer,
  circumstances: Required<Circumstances>,
): DeviceMap {
  if (limits.map) return followedMap(groups, limits, kernels.device);
  return deviceMap(groups, { ...limits, device: limits.device ?? inferred(groups, kernels, circumstances) });
}

/** The bytes of the weights of each layer. `''` is the whole model. */
export function moduleSizes(caller: string, model: Weighted): Record<string, number> {
  const sizes = namedGroups(caller, model).map(({ name, weights }): [string, number] => [
    name,
    weights.reduce((sum, weight) => sum + byteLength(weight), 0),
  ]);
  return Object.fromEntries([['', sizes.reduce((sum, [, bytes]) => sum + bytes, 0)], ...sizes]);
}

/** The bytes of weights that each device may hold. */
export function memoryLimits({ processes = 1 }: Circumstances = {}): Record<string, number> {
  const { device } = kernelLayerOf(getBackend(), backend());
  const host = { cpu: bytesForWeights(processes) };
  return device === 'cpu' ? host : { [device]: Infinity, ...host };
}

/** The device of each layer, as `planDispatch` would choose it. Changes nothing. */
export function inferredMap(
  caller: string,
  model: Weighted,
  options: Pick<DispatchOptions, 'maxMemory'>,
  { areReplaced = false, processes = 1 }: Circumstances = {},
): Record<string, string> {
  const kernels = kernelLayerOf(getBackend(), backend());
  const limits = { ...resolveLimits(caller, options, kernels.device), folder: '' };
  const groups = namedGroups(caller, model);
  const map = mapOf(groups.map(offloadablePart), limits, kernels, { areReplaced, processes });
  const places = (weights: readonly Variable[]) => {
    if (weights.some((weight) => map.onDisk.includes(weight))) return 'disk';
    return weights.some((weight) => map.onHost.includes(weight)) ? 'cpu' : kernels.device;
  };
  return Object.fromEntries(groups.map(({ name, weights }) => [name, places(weights)]));
}

/** Weights that were dispatched before, and stay where they are. */
function staying(): Dispatch {
  return { apply() {}, undo() {}, abandon() {}, [Symbol.dispose]() {} };
}

interface Moving {
  readonly kernels: KernelLayer;
  readonly folder: string;
  readonly areReplaced: boolean;
}

function moveOut(map: DeviceMap, { kernels, folder, areReplaced }: Moving): void {
  const residency = new Residency(map.roomBytes);
  const disk = new PlacesOnDisk(folder);
  const moved = placesFor(map, disk);
  let left = moved.size;
  const onGone = () => --left === 0 && disk[Symbol.dispose]();
  const all = offloadedWeights;
  const weights = Array.from(moved, ([variable, place]) => {
    const weight = new OffloadedWeight(variable, place, { kernels, residency }, all);
    all.add({ weight, onGone });
    return weight;
  });
  try {
    for (const weight of weights) {
      if (areReplaced) weight.leaveEmpty();
      else weight.store();
    }
  } catch (error) {
    bringBack([...moved.keys()]);
    throw error;
  }
}

/** @throws AccError of the disk. Nothing was moved then. */
function placesFor(map: DeviceMap, disk: PlacesOnDisk): Map<Variable, Place> {
  const places = new Map<Variable, Place>();
  try {
    for (const variable of map.onHost) places.set(variable, onHost());
    for (const variable of map.onDisk) places.set(variable, disk.place(byteLength(variable)));
  } catch (error) {
    disk[Symbol.dispose]();
    throw error;
  }
  return places;
}

function offloadablePart({ name, weights }: WeightGroup): WeightGroup {
  return { name, weights: weights.filter(({ dtype, size }) => isOffloadable(dtype) && size > 0) };
}

/** The memory that the weights may take. Those that have memory now may keep it. */
function inferred(
  groups: readonly WeightGroup[],
  kernels: KernelLayer,
  { areReplaced, processes }: Required<Circumstances>,
): number {
  // libtorch does not tell how much memory of a GPU is free.
  if (kernels.device !== 'cpu') return Infinity;
  const have = (variable: Variable) => (areReplaced && emptyWeightOf(variable) ? 0 : byteLength(variable));
  const held = groups.flatMap(({ weights }) => weights.map(have)).reduce((sum, bytes) => sum + bytes, 0);
  return bytesForWeights(processes) + held;
}
