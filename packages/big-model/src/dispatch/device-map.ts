import type { Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { bytesPerElement } from '../value-bytes.js';
import type { Limits } from './options.js';

/** Weights that are used together, such as those of a layer. */
export interface WeightGroup {
  readonly name: string;
  readonly weights: readonly Variable[];
}

/** Where the weights of a model are. */
export interface DeviceMap {
  /** Weights that are always in the memory of the device. */
  readonly resident: readonly Variable[];
  readonly onHost: readonly Variable[];
  readonly onDisk: readonly Variable[];
  /** The most bytes of the other weights that are in the memory of the device at a time. */
  readonly roomBytes: number;
}

/**
 * Keeps as many groups in memory as fit, in the order of their use, and leaves room for the largest
 * of the others. If some weights are frozen, those that are trained come first.
 *
 * @throws AccError `ACC_MEMORY_TOO_SMALL`, `ACC_OFFLOAD_FOLDER`.
 */
export function deviceMap(groups: readonly WeightGroup[], limits: Limits & { device: number }): DeviceMap {
  const sized = groups.map((group) => ({ ...group, bytes: sum(group.weights) }));
  const total = sized.reduce((all, { bytes }) => all + bytes, 0);
  if (total <= limits.device) {
    return { resident: groups.flatMap(({ weights }) => weights), onHost: [], onDisk: [], roomBytes: 0 };
  }
  const ordered = trainedFirst(sized);
  let kept = 0;
  let count = 0;
  const fits = () => {
    const [next, ...rest] = ordered.slice(count) as [Sized, ...Sized[]];
    return rest.length > 0 && kept + next.bytes + largest(rest).bytes <= limits.device;
  };
  while (fits()) kept += ordered[count++]!.bytes;
  const moved = ordered.slice(count);
  const widest = largest(moved);
  if (kept + widest.bytes > limits.device) throw tooSmall(widest, limits.device);
  const outside = moved.flatMap(({ weights }) => weights);
  const onHost = taken(outside, limits.host ?? 0);
  const onDisk = outside.slice(onHost.length);
  requireDisk(onDisk, limits);
  const resident = ordered.slice(0, count).flatMap(({ weights }) => weights);
  return { resident, onHost, onDisk, roomBytes: limits.device - kept };
}

/**
 * Follows a device map of the program. Without a limit, there is room for the largest of the groups that
 * are elsewhere.
 *
 * @param device The device of the backend.
 * @throws AccError `ACC_INVALID_OPTION` unless the map names exactly the groups; `ACC_MEMORY_TOO_SMALL`,
 * `ACC_OFFLOAD_FOLDER`.
 */
export function followedMap(groups: readonly WeightGroup[], limits: Limits, device: string): DeviceMap {
  const map = limits.map!;
  const names = groups.map(({ name }) => name);
  const missing = names.filter((name) => !Object.hasOwn(map, name));
  const surplus = Object.keys(map).filter((name) => !names.includes(name));
  if (missing.length + surplus.length > 0) throw notAllLayers(missing, surplus);
  const on = (place: string) => groups.filter(({ name }) => map[name] === place);
  const weightsOn = (place: string) => on(place).flatMap(({ weights }) => weights);
  const resident = weightsOn(device);
  const onHost = device === 'cpu' ? [] : weightsOn('cpu');
  const onDisk = weightsOn('disk');
  requireHost(onHost, limits);
  requireDisk(onDisk, limits);
  const elsewhere = groups.filter(({ name }) => map[name] !== device);
  if (elsewhere.length === 0) return { resident, onHost, onDisk, roomBytes: 0 };
  const widest = largest(elsewhere.map((group) => ({ ...group, bytes: sum(group.weights) })));
  const { device: limit = sum(resident) + widest.bytes } = limits;
  if (sum(resident) + widest.bytes > limit) throw tooSmall(widest, limit - sum(resident));
  return { resident, onHost, onDisk, roomBytes: limit - sum(resident) };
}

function notAllLayers(missing: readonly string[], surplus: readonly string[]): AccError {
  const problems = [
    ...(missing.length > 0 ? [`it lacks ${missing.join(', ')}`] : []),
    ...(surplus.length > 0 ? [`the model has no layer with weights named ${surplus.join(', ')}`] : []),
  ];
  return new AccError('ACC_INVALID_OPTION', `deviceMap: ${problems.join('; ')}.`, {
    help: 'Begin with the result of inferAutoDeviceMap(model), and change devices in it.',
    details: { missing, surplus },
  });
}

type Sized = WeightGroup & { readonly bytes: number };

export function byteLength({ size, dtype }: Variable): number {
  return size * bytesPerElement(dtype);
}

const sum = (weights: readonly Variable[]): number =>
  weights.reduce((all, weight) => all + byteLength(weight), 0);

function trainedFirst(groups: readonly Sized[]): Sized[] {
  const isTrained = ({ weights }: Sized) => weights.some(({ trainable }) => trainable);
  return [...groups.filter(isTrained), ...groups.filter((group) => !isTrained(group))];
}

function largest(groups: readonly Sized[]): Sized {
  return groups.reduce((most, group) => (group.bytes > most.bytes ? group : most));
}

/** The first weights that fit. */
function taken(weights: readonly Variable[], limit: number): Variable[] {
  let bytes = 0;
  const end = weights.findIndex((weight) => (bytes += byteLength(weight)) > limit);
  return weights.slice(0, end < 0 ? weights.length : end);
}

function requireHost(onHost: readonly Variable[], { host = Infinity }: Limits): void {
  const bytes = sum(onHost);
  if (bytes <= host) return;
  throw new AccError(
    'ACC_MEMORY_TOO_SMALL',
    `The device map has ${bytes} bytes of weights on cpu, but maxMemory.cpu is ${host}.`,
    { help: 'Give cpu more memory, or map layers to another device.', details: { bytes, host } },
  );
}

function requireDisk(onDisk: readonly Variable[], { disk, folder }: Limits): void {
  const bytes = sum(onDisk);
  if (bytes > disk) {
    throw new AccError(
      'ACC_MEMORY_TOO_SMALL',
      `${bytes} bytes of weights are left for the disk, but maxMemory.disk is ${disk}.`,
      { help: 'Give more memory to one of the devices.', details: { bytes, disk } },
    );
  }
  if (onDisk.length > 0 && folder === undefined) {
    throw new AccError(
      'ACC_OFFLOAD_FOLDER',
      `${bytes} bytes of weights do not fit in memory, and there is no offloadFolder for them.`,
      {
        help: 'Give offloadFolder, a folder on a fast local disk, or a larger maxMemory.',
        details: { bytes },
      },
    );
  }
}

function tooSmall({ name, bytes }: Sized, limit: number): AccError {
  return new AccError(
    'ACC_MEMORY_TOO_SMALL',
    `The weights of '${name}' are used together and have ${bytes} bytes, but maxMemory is ${limit}.`,
    { help: `Give at least ${bytes} bytes.`, details: { name, bytes, limit } },
  );
}
