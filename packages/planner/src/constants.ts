import type { Cluster } from './cluster.js';
import type { Calibration } from './hardware/calibrations.js';
import type { Setting } from './time/layer.js';

/** A number that a prediction depends on. */
export interface Constant {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Where it is from. */
  readonly origin: string;
  /** The field of a cluster that replaces or scales it. */
  readonly field?: string;
}

const GIVEN = 'given in the cluster';

/** The main constants of the hardware and of software, with their origins. */
export const constantsOf = (setting: Setting): Constant[] => [
  ...deviceConstants(setting),
  ...linkConstants(setting.cluster),
  ...networkConstants(setting.cluster),
  ...hostConstants(setting.cluster),
  ...calibrationConstants(setting),
];

/** A constant of a cluster, from its field or from what the preset has. */
const constantIn =
  ({ given }: Cluster) =>
  (name: string, value: number, unit: string, [field, origin]: readonly [string, string]): Constant => ({
    ...{ name, value, unit, origin: given.includes(field) ? GIVEN : origin, field },
  });

function deviceConstants({ cluster, plan }: Setting): Constant[] {
  const { device, devicesPerHost } = cluster;
  const of = constantIn(cluster);
  const peak = device.peakFlops[plan.precision]!;
  const products = { name: `products in ${plan.precision}`, value: peak, unit: 'FLOP/s' };
  return [
    isMeasured(cluster)
      ? { ...products, origin: GIVEN, field: 'measured.flopsPerSecond' }
      : { ...products, origin: device.source },
    of('memory of a device', device.memoryBytes, 'bytes', ['memoryBytes', device.source]),
    of('rate of its memory', device.memoryBytesPerSecond, 'bytes/s', ['memoryBytesPerSecond', device.source]),
    of('devices of a host', devicesPerHost, '1', ['devicesPerHost', 'data sheet of the system']),
  ];
}

function linkConstants(cluster: Cluster): Constant[] {
  const { bytesPerSecond, latencySeconds } = cluster.link;
  const of = constantIn(cluster);
  return [
    of('link on a host', bytesPerSecond, 'bytes/s', ['linkBytesPerSecond', 'data sheet of the link']),
    of('step of a collective on a host', latencySeconds, 's', ['linkLatencySeconds', "NCCL's tuning.cc"]),
  ];
}

/** One host has no network. */
function networkConstants(cluster: Cluster): Constant[] {
  const { network, devices, devicesPerHost } = cluster;
  if (devices <= devicesPerHost) return [];
  const of = constantIn(cluster);
  const { name, bytesPerSecond, latencySeconds } = network;
  return [
    of('network of a device', bytesPerSecond, 'bytes/s', ['networkBytesPerSecond', name]),
    of('step of a collective between hosts', latencySeconds, 's', ['networkLatencySeconds', name]),
  ];
}

function hostConstants(cluster: Cluster): Constant[] {
  const { hostLink, hostMemoryBytes, nvmeBytesPerSecond, given } = cluster;
  const of = constantIn(cluster);
  const rate = 'bytes/s';
  const system = given.includes('devicesPerHost')
    ? 'data sheet of the system, as much for each device'
    : 'data sheet of the system';
  const link = isMeasured(cluster) ? 'taken as the rate of its memory' : 'PCIe or NVLink-C2C';
  return [
    of('device to host', hostLink.bytesPerSecond, rate, ['hostLinkBytesPerSecond', link]),
    of('memory of a host', hostMemoryBytes, 'bytes', ['hostMemoryBytes', system]),
    ...(nvmeBytesPerSecond === null
      ? []
      : [of('disks of a host', nvmeBytesPerSecond, rate, ['nvmeBytesPerSecond', system])]),
  ];
}

const isMeasured = ({ given }: Cluster): boolean => given.includes('measured');

/** The origin of what software reaches of the rates. */
export const originOfReached = (cluster: Cluster, { origin }: Pick<Calibration, 'origin'>): string =>
  isMeasured(cluster) ? 'rates that were measured count as reached' : `chosen by hand, aiming at ${origin}`;

function calibrationConstants({ cluster, calibration }: Setting): Constant[] {
  const origin = originOfReached(cluster, calibration);
  const clock = cluster.given.includes('clock') ? `${origin}; times the clock of the cluster` : origin;
  const of = (name: string, value: number): Constant => ({
    ...{ name: `reached of ${name}`, value, unit: '1', origin },
  });
  return [
    { ...of('products', calibration.products), origin: clock, field: 'clock' },
    { ...of('attention', calibration.attention), origin: clock, field: 'clock' },
    of('the rate of memory', calibration.memory),
    of('the link', calibration.link),
    of('the network', calibration.network),
  ];
}
