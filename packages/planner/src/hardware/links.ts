/** A connection in the α–β model: a message of S bytes takes `latencySeconds` + S ÷ `bytesPerSecond`. */
export interface Link {
  /** Bytes a second of one device in one direction, as on the data sheet. */
  readonly bytesPerSecond: number;
  /** The time of one step of a collective, whatever its size. */
  readonly latencySeconds: number;
}

const GIGA = 1e9;
const MICRO = 1e-6;

/**
 * A step of a ring on NVLink. NCCL's own model has 0.6 to 3.4 µs by protocol (src/graph/tuning.cc);
 * 0.86 is the twelve microseconds of an all-reduce of 8 ranks, 14 steps.
 */
const NVLINK_STEP = 0.86 * MICRO;

/** NVLink: bytes of a device in one direction, of data sheets. */
export const NVLINK = {
  v100: { bytesPerSecond: 150 * GIGA, latencySeconds: NVLINK_STEP },
  a100: { bytesPerSecond: 300 * GIGA, latencySeconds: NVLINK_STEP },
  h100: { bytesPerSecond: 450 * GIGA, latencySeconds: NVLINK_STEP },
  h100Nvl: { bytesPerSecond: 300 * GIGA, latencySeconds: NVLINK_STEP },
  b200: { bytesPerSecond: 900 * GIGA, latencySeconds: NVLINK_STEP },
} as const satisfies Readonly<Record<string, Link>>;

/**
 * PCIe x16: 16, 32 and 64 GB/s a direction on paper, 12, 25 and 50 in copies (12: NCCL's topo.h). A step:
 * NCCL's tuning.cc, 1.0 µs.
 */
export const PCIE = {
  gen3: { bytesPerSecond: 12 * GIGA, latencySeconds: 1 * MICRO },
  gen4: { bytesPerSecond: 25 * GIGA, latencySeconds: 1 * MICRO },
  gen5: { bytesPerSecond: 50 * GIGA, latencySeconds: 1 * MICRO },
} as const satisfies Readonly<Record<string, Link>>;

/**
 * NVLink-C2C between a Hopper or Blackwell device and its Grace CPU: 450 GB/s a direction (NVIDIA GH200 data
 * sheet). Two devices of a GB200 share that of their CPU.
 */
export const C2C = {
  gh200: { bytesPerSecond: 450 * GIGA, latencySeconds: 1 * MICRO },
  gb200: { bytesPerSecond: 225 * GIGA, latencySeconds: 1 * MICRO },
} as const satisfies Readonly<Record<string, Link>>;

/** How switches connect hosts, which decides how many a message passes. */
export type Topology = 'fat-tree' | 'dragonfly';

/** The network between hosts. */
export interface Network extends Link {
  readonly name: string;
  readonly topology: Topology;
  /** The time in one switch. `latencySeconds` is the time without switches. */
  readonly switchSeconds: number;
  /** The ports of a switch that lead to hosts, and the hosts of a group of switches. */
  readonly hostsPerSwitch: number;
  readonly hostsPerGroup: number;
}

/**
 * InfiniBand: 130 ns in a switch of 40 ports (NVIDIA QM8700 data sheet). A fat tree of three levels:
 * one switch, three or five. 2.7 µs is NCCL's step of a ring on a network (src/graph/tuning.cc).
 */
const infiniband = (name: string, gigabytesPerSecond: number): Network => ({
  name,
  bytesPerSecond: gigabytesPerSecond * GIGA,
  latencySeconds: 2.7 * MICRO,
  ...{ topology: 'fat-tree', switchSeconds: 0.13 * MICRO, hostsPerSwitch: 20, hostsPerGroup: 400 },
});

/**
 * Slingshot-11: 200 Gb/s a card, some 350 ns in a switch of 64 ports, of which 16 lead to nodes, and at
 * most three hops between switches in a dragonfly (De Sensi et al., "An In-Depth Analysis of the
 * Slingshot Interconnect", SC 2020). About 2 µs between two nodes on one switch.
 */
const slingshot: Network = {
  name: 'Slingshot-11',
  bytesPerSecond: 25 * GIGA,
  latencySeconds: 1.65 * MICRO,
  ...{ topology: 'dragonfly', switchSeconds: 0.35 * MICRO, hostsPerSwitch: 16, hostsPerGroup: 512 },
};

export const NETWORKS = {
  /** Two V100 of a DGX-1 share one of its four cards. */
  edr: infiniband('InfiniBand EDR, 100 Gb/s for two devices', 6.25),
  hdr: infiniband('InfiniBand HDR 200 Gb/s', 25),
  ndr: infiniband('InfiniBand NDR 400 Gb/s', 50),
  slingshot,
} as const satisfies Readonly<Record<string, Network>>;

/**
 * The links between switches that a message passes at most: 0 on one switch; in a fat tree 2 or 4; in a
 * dragonfly 1 inside a group, and 3 between groups (local, global, local).
 */
export function hopsOf({ topology, hostsPerSwitch, hostsPerGroup }: Network, hosts: number): number {
  if (hosts <= hostsPerSwitch) return 0;
  const isOneGroup = hosts <= hostsPerGroup;
  if (topology === 'dragonfly') return isOneGroup ? 1 : 3;
  return isOneGroup ? 2 : 4;
}

/** The network as one link between any two of so many hosts. */
export const linkBetween = (network: Network, hosts: number): Link => ({
  bytesPerSecond: network.bytesPerSecond,
  latencySeconds: network.latencySeconds + (hopsOf(network, hosts) + 1) * network.switchSeconds,
});
