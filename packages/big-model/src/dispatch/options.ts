import * as z from 'zod';
import { AccError, parseOptions } from '@acc/contract';

/** Devices by name (`cpu`, `cuda:0`, `disk`), and the most bytes of weights that each holds. */
export type DeviceBytes = Readonly<Record<string, number>>;

/** The device of each layer, by the names of layers; of each variable, in a list of variables. */
export type LayerDevices = Readonly<Record<string, string>>;

/** Options of `dispatchModel` and `loadCheckpointAndDispatch`. */
export interface DispatchOptions {
  /**
   * The most bytes of weights that are in the memory of this process at a time, or of each device:
   * that of the backend, `cpu` for host memory beside a GPU, and `disk`. Default: three quarters of
   * the memory that is free, which leaves at least 64 MiB, and all of the disk.
   */
  readonly maxMemory?: number | DeviceBytes;
  /**
   * Where the weights of each layer are, by its name: the device of the backend, `cpu` for host memory
   * beside a GPU, or `disk`. All layers with weights are named, as `inferAutoDeviceMap` does. Default:
   * chosen by `maxMemory`.
   */
  readonly deviceMap?: LayerDevices;
  /** The folder for weights that are on disk. Made if missing. Needed if there are any. */
  readonly offloadFolder?: string;
}

const bytes = z.number().int().nonnegative();
const schema = z.object({
  maxMemory: z
    .union([bytes, z.record(z.string(), bytes)], {
      error: 'expected a whole number of bytes from 0, or { device: bytes }',
    })
    .optional(),
  offloadFolder: z.string().min(1).optional(),
  deviceMap: z.record(z.string(), z.string()).optional(),
});

/**
 * Whether any option has a value.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function hasLimits(caller: string, options: DispatchOptions): boolean {
  return Object.values(parseOptions(caller, schema, options)).some((value) => value !== undefined);
}

/** The most bytes of weights by where they are. */
export interface Limits {
  /** Undefined: what is free. */
  readonly device: number | undefined;
  /** Undefined: not stated. Then only a map puts weights there. */
  readonly host: number | undefined;
  readonly disk: number;
  readonly folder: string | undefined;
  /** Undefined: chosen by the other limits. */
  readonly map: LayerDevices | undefined;
}

/**
 * @param device Where the backend has its tensors: `cpu`, `cuda:0`.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function resolveLimits(caller: string, options: DispatchOptions, device: string): Limits {
  const { maxMemory, offloadFolder: folder, deviceMap: map } = parseOptions(caller, schema, options);
  const known = [...new Set([device, 'cpu', 'disk'])];
  for (const name of Object.values(map ?? {})) {
    if (!known.includes(name)) throw noDevice(`${caller}.deviceMap`, name, known);
  }
  const unstated = device === 'cpu' ? 0 : undefined;
  if (typeof maxMemory !== 'object')
    return { device: maxMemory, host: unstated, disk: Infinity, folder, map };
  const unknown = Object.keys(maxMemory).find((name) => !known.includes(name));
  if (unknown !== undefined) throw noDevice(`${caller}.maxMemory`, unknown, known);
  const { [device]: own, cpu, disk = Infinity } = maxMemory;
  return { device: own, host: unstated ?? cpu, disk, folder, map };
}

function noDevice(where: string, name: string, known: readonly string[]): AccError {
  return new AccError('ACC_INVALID_OPTION', `${where}: there is no device '${name}'.`, {
    help: `Weights can be on ${known.map((each) => `'${each}'`).join(', ')}.`,
    details: { device: name, known },
  });
}
