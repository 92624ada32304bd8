import type { Cluster } from './cluster.js';
import type { Setting } from './time/layer.js';

/** A number that a prediction depends on. */
export interface Constant {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Where it is from. */
  readonly origin: string;
}

const GIVEN = 'given in the cluster';

/** All constants of the hardware and of software, with their origins. */
export const constantsOf = (setting: Setting): Constant[] => [
  ...deviceConstants(setting),
  ...linkConstants(setting.cluster),
  ...calibrationConstants(setting),
];

function deviceConstants({ cluster, plan }: Setting): Constant[] {
  const { device, given } = cluster;
  const of = (name: string, value: number, unit: string, option?: string): Constant => ({
    ...{ name, value, unit, origin: option && given.includes(option) ? GIVEN : device.source },
  });
  return [
    of(`products in ${plan.precision}`, device.peakFlops[plan.precision]!, 'FLOP/s'),
    of('memory of a device', device.memoryBytes, 'bytes', 'memoryBytes'),
    of('rate of its memory', device.memoryBytesPerSecond, 'bytes/s', 'memoryBytesPerSecond'),
  ];
}

function linkConstants({
  link,
  network,
  hostLink,
  hostMemoryBytes,
  nvmeBytesPerSecond,
  given,
}: Cluster): Constant[] {
  const of = (name: string, value: number, unit: string, [option, origin]: readonly [string, string]) => ({
    ...{ name, value, unit, origin: given.includes(option) ? GIVEN : origin },
  });
  const rate = 'bytes/s';
  return [
    of('link on a host', link.bytesPerSecond, rate, ['linkBytesPerSecond', 'data sheet of the link']),
    of('step of a collective on it', link.latencySeconds, 's', ['linkLatencySeconds', "NCCL's tuning.cc"]),
    of('network of a device', network.bytesPerSecond, rate, ['networkBytesPerSecond', network.name]),
    of('step of a collective on it', network.latencySeconds, 's', ['networkLatencySeconds', network.name]),
    of('device to host', hostLink.bytesPerSecond, rate, ['hostLinkBytesPerSecond', 'PCIe or NVLink-C2C']),
    of('memory of a host', hostMemoryBytes, 'bytes', ['hostMemoryBytes', 'data sheet of the system']),
    ...(nvmeBytesPerSecond === null
      ? []
      : [
          of('disks of a host', nvmeBytesPerSecond, rate, ['nvmeBytesPerSecond', 'data sheet of the system']),
        ]),
  ];
}

function calibrationConstants({ calibration }: Setting): Constant[] {
  const origin = `chosen by hand, aiming at ${calibration.origin}`;
  const parts = { products: 'products', attention: 'attention', memory: 'the rate of memory' } as const;
  const others = { link: 'the link', network: 'the network' } as const;
  return Object.entries({ ...parts, ...others }).map(([key, name]) => ({
    name: `reached of ${name}`,
    value: calibration[key as keyof typeof parts],
    unit: '1',
    origin,
  }));
}
