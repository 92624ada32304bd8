import { AccError, counted } from '@acc/contract';
import { MEMORY_NAMES } from '../memory/device-memory.js';
import { optimizerShards } from '../memory/shares.js';
import { largestOf } from './planned.js';
import { basesOf, mayNeedLess, type Space } from './space.js';
import { variantsOf, type Sized } from './variants.js';

/** No plan keeps the constraints: with the reasons that were found most often. */
export function impossible(space: Space): AccError {
  const axes = whyNotAxes(space);
  const reasons = axes === undefined ? reasonsOf(space) : [axes];
  return new AccError(
    'ACC_PLAN_IMPOSSIBLE',
    `No plan keeps the constraints: ${reasons.slice(0, SHOWN).join('; ')}.`,
    {
      help: 'Leave out a constraint, or change the batch or the number of devices.',
      details: { reasons, constraints: space.kept },
    },
  );
}

const SHOWN = 3;
/** data, fsdp, tensor, context, pipeline. */
const AXES = 5;

/** The given axes against the devices, before all other reasons. */
function whyNotAxes({ kept, cluster: { devices } }: Space): string | undefined {
  const given = Object.entries(kept.mesh).filter(([, size]) => size !== undefined);
  const product = given.reduce((all, [, size]) => all * size, 1);
  const isWhole = given.length === AXES;
  if (isWhole ? product === devices : devices % product === 0) return undefined;
  const name = given.length === 1 ? `mesh.${given[0]![0]}` : given.map(([axis]) => axis).join(' × ');
  return `${name} (${product}) ${isWhole ? 'is not' : 'does not divide'} the ${counted(devices, 'device')}`;
}

/** The reasons by how often they were found. */
function reasonsOf(space: Space): string[] {
  const counts = new Map<string, number>();
  const refuse = (reason: () => string) => counts.set(reason(), (counts.get(reason()) ?? 0) + 1);
  for (const bases of basesOf({ ...space, refuse })) void bases;
  return [...counts].sort((a, b) => b[1] - a[1]).map(([reason]) => reason);
}

/** All plans need more memory than there is: with what the smallest of them needs. */
export function nothingFits(space: Space, limitBytes: number, unfit: readonly Sized[]): AccError {
  const least = unfit.reduce((a, b) => (lackOf(b, space, limitBytes) < lackOf(a, space, limitBytes) ? b : a));
  const { memory, memoryBytes, hostMemoryBytes, setting } = least;
  const devices = devicesThatFit(space, limitBytes);
  const isHost = memoryBytes <= limitBytes;
  const need = isHost
    ? `${gigabytes(hostMemoryBytes)} of a host's memory, which has ${gigabytes(space.cluster.hostMemoryBytes)}`
    : `${gigabytes(memoryBytes)} on a device, of which ${gigabytes(limitBytes)} may be used; most are ${MEMORY_NAMES[largestOf(memory)]}`;
  const axes = Object.entries(setting.plan.mesh)
    .filter(([, size]) => size > 1)
    .map(([axis, size]) => `${axis} ${size}`);
  return new AccError(
    'ACC_PLAN_NOTHING_FITS',
    `No plan fits. The one that needs least (${axes.join(', ') || 'one device'}) needs ${need}.`,
    {
      help:
        devices === undefined
          ? `${MORE} More devices alone do not help.`
          : `With ${devices} devices a plan fits. ${MORE}`,
      details: {
        ...{ memoryBytes, hostMemoryBytes, limitBytes, memory, mesh: setting.plan.mesh },
        ...{ devices, optimizerShards: optimizerShards(setting.plan) },
      },
    },
  );
}

const MORE =
  'Shorter sequences, a smaller model, devices with more memory, or fewer constraints help as well.';

/** How many times what there is a plan needs. */
const lackOf = ({ memoryBytes, hostMemoryBytes }: Sized, { cluster }: Space, limitBytes: number): number =>
  Math.max(memoryBytes / limitBytes, hostMemoryBytes / cluster.hostMemoryBytes);

const MOST_DOUBLINGS = 6;

/** The least power of two times the devices with which a plan of the same batch fits. */
function devicesThatFit(space: Space, limitBytes: number): number | undefined {
  for (let times = 2; times <= 2 ** MOST_DOUBLINGS; times *= 2) {
    const cluster = { ...space.cluster, devices: times * space.cluster.devices };
    const larger = { ...space, cluster, refuse: () => {} };
    for (const bases of basesOf(larger)) {
      const least = bases.filter((base, i) => i === 0 || mayNeedLess(base));
      if (least.some((base) => variantsOf(base, larger, limitBytes).some(({ fits }) => fits)))
        return cluster.devices;
    }
  }
  return undefined;
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
