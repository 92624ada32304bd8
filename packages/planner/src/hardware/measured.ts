import type * as z from 'zod';
import { AccError } from '@acc/contract';
import type { clusterSchema } from '../options.js';
import type { Calibration } from './calibrations.js';
import type { ClusterType } from './clusters.js';
import type { Link, Network } from './links.js';

/** The options of a cluster, with defaults. */
export type CheckedCluster = z.infer<typeof clusterSchema>;

/** Rates that were measured are reached as they are. Nothing is known of overlap, so there is none. */
const AS_MEASURED: Calibration = {
  ...{ products: 1, halfFlops: 0, attention: 1, memory: 1, link: 1, network: 1 },
  ...{ tensorExposed: 1, overlaps: false, lossBytes: 40 },
  origin: 'the rates that are given in the cluster',
};

const NEEDED = [
  ...(['devicesPerHost', 'memoryBytes', 'memoryBytesPerSecond'] as const),
  ...(['linkBytesPerSecond', 'linkLatencySeconds', 'hostMemoryBytes'] as const),
];

const OF_NETWORK = ['networkBytesPerSecond', 'networkLatencySeconds'] as const;

/**
 * The type of a cluster whose constants are all given.
 *
 * @throws AccError `ACC_PLAN_CLUSTER` with those that are missing.
 */
export function measuredType(options: CheckedCluster, where: string): ClusterType {
  requireAll(options, where);
  const { measured, devicesPerHost = 1, memoryBytes = 0, memoryBytesPerSecond = 0 } = options;
  const { linkBytesPerSecond = 0, linkLatencySeconds = 0, hostMemoryBytes = 0 } = options;
  const link = { bytesPerSecond: linkBytesPerSecond, latencySeconds: linkLatencySeconds };
  return {
    device: {
      ...{ name: measured!.name, peakFlops: measured!.flopsPerSecond, memoryBytes, memoryBytesPerSecond },
      source: 'given in the cluster',
    },
    ...{ devicesPerHost, link, hostMemoryBytes, nvmeBytesPerSecond: options.nvmeBytesPerSecond ?? null },
    // Without several hosts nothing uses it.
    network: { ...link, name: 'given in the cluster', ...WITHOUT_SWITCHES },
    hostLink: { bytesPerSecond: options.hostLinkBytesPerSecond ?? memoryBytesPerSecond, latencySeconds: 0 },
    ...{ calibration: AS_MEASURED, flashCalibration: AS_MEASURED, calibration8Bit: AS_MEASURED },
  };
}

const WITHOUT_SWITCHES: Omit<Network, 'name' | keyof Link> = {
  ...{ topology: 'fat-tree', switchSeconds: 0, hostsPerSwitch: Infinity, hostsPerGroup: Infinity },
};

function requireAll(options: CheckedCluster, where: string): void {
  const { devices, devicesPerHost = devices } = options;
  const needed = [...NEEDED, ...(devices > devicesPerHost ? OF_NETWORK : [])];
  const missing = needed.filter((name) => options[name] === undefined);
  if (missing.length === 0) return;
  throw new AccError('ACC_PLAN_CLUSTER', `${where} has measured, and lacks ${missing.join(', ')}.`, {
    help: 'Without a preset these have no defaults. `npx acc test` measures links, accelerator.profile the device.',
    details: { missing },
  });
}
