import { CALIBRATIONS, type Calibration } from './calibrations.js';
import { DEVICES, type Device } from './devices.js';
import { C2C, NETWORKS, NVLINK, PCIE, type Link, type Network } from './links.js';

/** Hosts with accelerators, all alike. */
export interface ClusterType {
  readonly device: Device;
  readonly devicesPerHost: number;
  /** Between the devices of a host. */
  readonly link: Link;
  readonly network: Network;
  /** Between a device and the memory of its host, by which offload moves values. */
  readonly hostLink: Link;
  /** Of one host: memory of the CPUs, and what its NVMe disks read together. Null: it has none. */
  readonly hostMemoryBytes: number;
  readonly nvmeBytesPerSecond: number | null;
  /** Without flash attention, which came with other versions of all libraries. */
  readonly calibration: Calibration;
  readonly flashCalibration: Calibration;
  /** With products in 8 bits. */
  readonly calibration8Bit: Calibration;
}

const GB = 1e9;
const { megatron2021, a100Flash, h100, h1008Bit, b200 } = CALIBRATIONS;

/** Calibrations without and with flash attention, and in 8 bits. */
const AMPERE = { calibration: megatron2021, flashCalibration: a100Flash, calibration8Bit: a100Flash };
const HOPPER = { calibration: h100, flashCalibration: h100, calibration8Bit: h1008Bit };
const BLACKWELL = { calibration: b200, flashCalibration: b200, calibration8Bit: b200 };

/** DGX systems: host memory and the rate of NVMe disks are of NVIDIA's data sheets of the systems. */
const DGX_1 = {
  ...{ devicesPerHost: 8, hostMemoryBytes: 512 * GB, nvmeBytesPerSecond: 6 * GB, hostLink: PCIE.gen3 },
};
const DGX_A100 = {
  ...{ devicesPerHost: 8, hostMemoryBytes: 1024 * GB, nvmeBytesPerSecond: 25 * GB, hostLink: PCIE.gen4 },
};
const DGX_H100 = {
  ...{ devicesPerHost: 8, hostMemoryBytes: 2048 * GB, nvmeBytesPerSecond: 50 * GB, hostLink: PCIE.gen5 },
};

/** The known kinds of clusters. */
export const PRESETS = {
  'v100-sxm': { ...DGX_1, device: DEVICES.v100, link: NVLINK.v100, network: NETWORKS.edr, ...AMPERE },
  'a100-sxm': { ...DGX_A100, device: DEVICES.a100, link: NVLINK.a100, network: NETWORKS.hdr, ...AMPERE },
  'a100-sxm-40gb': {
    ...{ ...DGX_A100, device: DEVICES.a100Small, link: NVLINK.a100, network: NETWORKS.hdr, ...AMPERE },
  },
  'h100-sxm': { ...DGX_H100, device: DEVICES.h100, link: NVLINK.h100, network: NETWORKS.ndr, ...HOPPER },
  'h100-pcie': { ...DGX_H100, device: DEVICES.h100Pcie, link: PCIE.gen5, network: NETWORKS.ndr, ...HOPPER },
  /**
   * A bridge joins two devices, so a pair counts as a host, with a quarter of what eight have. Pairs of one
   * server are taken as connected by the network, whose rate is about that of PCIe.
   */
  'h100-nvl': {
    ...{ devicesPerHost: 2, hostMemoryBytes: 512 * GB, nvmeBytesPerSecond: 12.5 * GB, hostLink: PCIE.gen5 },
    ...{ device: DEVICES.h100Nvl, link: NVLINK.h100Nvl, network: NETWORKS.ndr, ...HOPPER },
  },
  'h200-sxm': { ...DGX_H100, device: DEVICES.h200, link: NVLINK.h100, network: NETWORKS.ndr, ...HOPPER },
  'b200-sxm': { ...DGX_H100, device: DEVICES.b200, link: NVLINK.b200, network: NETWORKS.ndr, ...BLACKWELL },
  /** One NVLink domain of 18 nodes: 72 devices count as a host. 17 TB of LPDDR5X, a disk of 12 GB/s a node. */
  'gb200-nvl72': {
    ...{
      devicesPerHost: 72,
      hostMemoryBytes: 17_000 * GB,
      nvmeBytesPerSecond: 216 * GB,
      hostLink: C2C.gb200,
    },
    ...{ device: DEVICES.gb200, link: NVLINK.b200, network: NETWORKS.ndr, ...BLACKWELL },
  },
  /** Nodes of four GH200, each with 120 GB of LPDDR5X and a card of its own, without disks (Alps, CSCS). */
  'gh200-slingshot': {
    ...{ devicesPerHost: 4, hostMemoryBytes: 480 * GB, nvmeBytesPerSecond: null, hostLink: C2C.gh200 },
    ...{ device: DEVICES.gh200, link: NVLINK.h100, network: NETWORKS.slingshot, ...HOPPER },
  },
  /** Nodes of four A100 with Slingshot (Perlmutter, NERSC): 256 GB, without disks. */
  'a100-slingshot': {
    ...{ devicesPerHost: 4, hostMemoryBytes: 256 * GB, nvmeBytesPerSecond: null, hostLink: PCIE.gen4 },
    ...{ device: DEVICES.a100Small, link: NVLINK.a100, network: NETWORKS.slingshot, ...AMPERE },
  },
} as const satisfies Readonly<Record<string, ClusterType>>;

export type PresetName = keyof typeof PRESETS;
export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];
