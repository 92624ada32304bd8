import { AccError, nearestName, parseOptions, showValue } from '@acc/contract';
import type { Calibration } from './hardware/calibrations.js';
import { PRESET_NAMES, PRESETS, type ClusterType, type PresetName } from './hardware/clusters.js';
import { measuredType, type CheckedCluster } from './hardware/measured.js';
import { clusterSchema, type ClusterOptions } from './options.js';
import { readJsonFile } from './read-json-file.js';

/** Hosts of one kind, with so many devices together. */
export interface Cluster extends ClusterType {
  readonly devices: number;
  /** The names of constants that are not those of the preset. */
  readonly given: readonly string[];
}

/**
 * @throws AccError `ACC_PLAN_CLUSTER` for an unknown preset or a file that cannot be read;
 * `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function clusterOf(given: ClusterOptions | string): Cluster {
  if (typeof given !== 'string') return clusterOfOptions(given, 'cluster');
  return clusterOfOptions(readClusterFile(given), given);
}

/**
 * The fields of a file, which are not checked yet.
 *
 * @throws AccError `ACC_PLAN_CLUSTER` if it cannot be read, or is no JSON object.
 */
export const readClusterFile = (path: string): Readonly<Record<string, unknown>> =>
  readJsonFile(path, 'cluster.json', { missing: 'ACC_PLAN_CLUSTER', invalid: 'ACC_PLAN_CLUSTER' }).json;

function clusterOfOptions(given: object, where: string): Cluster {
  const options = parseOptions(where, clusterSchema, given);
  const type = typeOf(options, where);
  const { clock, devices, devicesPerHost = type.devicesPerHost } = options;
  const { device, link, network, hostLink } = type;
  return {
    ...type,
    given: Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : name)),
    ...{ devices, devicesPerHost, ...hostOf(type, options, devicesPerHost / type.devicesPerHost) },
    hostLink: { ...hostLink, bytesPerSecond: options.hostLinkBytesPerSecond ?? hostLink.bytesPerSecond },
    device: {
      ...device,
      memoryBytes: options.memoryBytes ?? device.memoryBytes,
      memoryBytesPerSecond: options.memoryBytesPerSecond ?? device.memoryBytesPerSecond,
    },
    link: {
      bytesPerSecond: options.linkBytesPerSecond ?? link.bytesPerSecond,
      latencySeconds: options.linkLatencySeconds ?? link.latencySeconds,
    },
    network: {
      ...network,
      bytesPerSecond: options.networkBytesPerSecond ?? network.bytesPerSecond,
      latencySeconds: options.networkLatencySeconds ?? network.latencySeconds,
    },
    calibration: slowedDown(type.calibration, clock),
    flashCalibration: slowedDown(type.flashCalibration, clock),
    calibration8Bit: slowedDown(type.calibration8Bit, clock),
  };
}

/** The preset, or the type of a device that was measured. */
function typeOf(options: CheckedCluster, where: string): ClusterType {
  const { preset, measured } = options;
  if (measured && preset === undefined) return measuredType(options, where);
  if (preset !== undefined && !measured) return PRESETS[requirePreset(preset)];
  throw new AccError(
    'ACC_PLAN_CLUSTER',
    `${where} has ${measured ? 'both preset and measured' : 'neither preset nor measured'}.`,
    { help: `Give one of them. Presets: ${PRESET_NAMES.join(', ')}.` },
  );
}

/** Memory and disks of a host. A host with fewer devices than the preset's has as much of them for each. */
function hostOf({ hostMemoryBytes, nvmeBytesPerSecond }: ClusterType, options: CheckedCluster, part: number) {
  return {
    hostMemoryBytes: options.hostMemoryBytes ?? hostMemoryBytes * part,
    nvmeBytesPerSecond: options.nvmeBytesPerSecond ?? (nvmeBytesPerSecond && nvmeBytesPerSecond * part),
  };
}

/** MFU stays relative to the data sheet, so a lower clock is a smaller part of it. */
function slowedDown(calibration: Calibration, clock: number): Calibration {
  const { products, attention } = calibration;
  return { ...calibration, products: products * clock, attention: attention * clock };
}

function requirePreset(name: string): PresetName {
  if (Object.hasOwn(PRESETS, name)) return name as PresetName;
  // `a100` is the beginning of two.
  const meant = PRESET_NAMES.filter((known) => name !== '' && known.startsWith(name.toLowerCase()));
  const nearest = meant.length > 0 ? meant.join("' or '") : nearestName(name, PRESET_NAMES);
  throw new AccError('ACC_PLAN_CLUSTER', `The preset ${showValue(name)} is not known.`, {
    help: `${nearest ? `Did you mean '${nearest}'? ` : ''}Known: ${PRESET_NAMES.join(', ')}. A file has a slash, or ends with .json.`,
    details: { name, known: PRESET_NAMES },
  });
}

/** The constants that software of the plan's kind reaches. */
export function calibrationOf(
  { calibration, flashCalibration, calibration8Bit }: Cluster,
  { precision, flashAttention }: { readonly precision: string; readonly flashAttention: boolean },
): Calibration {
  if (precision === 'fp8') return calibration8Bit;
  return flashAttention ? flashCalibration : calibration;
}
