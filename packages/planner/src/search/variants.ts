import type { Cluster } from '../cluster.js';
import type { ComputePrecision } from '../hardware/devices.js';
import { deviceMemory, hostBytes, totalBytes, type DeviceMemory } from '../memory/device-memory.js';
import { layerActivationBytes } from '../memory/transformer-activations.js';
import { PRECISIONS, type CheckedPlan } from '../plan.js';
import { largestRows, settingOfParts } from '../predict.js';
import { tokensOf, type Setting } from '../time/layer.js';
import { mostKeptLayers } from '../time/step.js';
import type { Kept } from './options.js';
import type { Base, Space } from './space.js';

/** A plan with the memory that it takes. */
export interface Sized {
  readonly given: CheckedPlan;
  readonly setting: Setting;
  readonly memory: DeviceMemory;
  readonly memoryBytes: number;
  readonly hostMemoryBytes: number;
  readonly fits: boolean;
}

type Choice = Pick<CheckedPlan, 'precision' | 'recompute' | 'checkpointEvery'>;

/**
 * The plans of a base that differ in time or memory: 16 bits without recomputation are fastest, so others
 * are tried only where that does not fit. A device whose wide products are faster still moves 16 bits
 * faster, so there both are tried.
 */
export function variantsOf(base: Base, space: Space, limitBytes: number): Sized[] {
  const [first, second] = precisionsOf(space.kept, space.cluster);
  const variants = variantsIn(first, base, space, limitBytes);
  if (second === undefined || (variants[0]!.fits && !isWide(first))) return variants;
  return [...variants, ...variantsIn(second, base, space, limitBytes)];
}

/** The plan without recomputation, and if that does not fit the one that needs least. */
function variantsIn(precision: ComputePrecision, base: Base, space: Space, limitBytes: number): Sized[] {
  const { recompute, checkpointEvery } = space.kept;
  const plain = sized(base, { precision, ...recomputeOf(space.kept) }, space, limitBytes);
  const areSectionsFree = checkpointEvery == null && (recompute === undefined || recompute === 'full');
  if (plain.fits || !areSectionsFree) return [plain];
  return [plain, sized(base, { precision, ...smallest(plain.setting) }, space, limitBytes)];
}

const recomputeOf = ({ recompute, checkpointEvery }: Kept): Omit<Choice, 'precision'> =>
  checkpointEvery == null
    ? { recompute: recompute ?? 'none', checkpointEvery: recompute === 'full' ? 1 : undefined }
    : { recompute: 'full', checkpointEvery };

/** The fastest precision, and the fastest of another width: wide ones have no 16-bit copies of weights. */
function precisionsOf(
  { precision }: Kept,
  { device: { peakFlops } }: Cluster,
): readonly [ComputePrecision, ComputePrecision | undefined] {
  if (precision !== undefined) return [precision, undefined];
  const known = PRECISIONS.filter((each) => peakFlops[each] !== undefined).toSorted(
    (a, b) => peakFlops[b]! - peakFlops[a]!,
  );
  const first = known[0]!;
  return [first, known.find((each) => isWide(each) !== isWide(first))];
}

const isWide = (precision: ComputePrecision): boolean => precision === 'tf32' || precision === 'float32';

const MOST_LAYERS_OF_A_SECTION = 16;

/** Activation checkpointing with the sections that need least memory. They all take the same time. */
function smallest(setting: Setting): Omit<Choice, 'precision'> {
  const { model, plan } = setting;
  const tokens = tokensOf({ ...setting, rows: largestRows(plan) });
  const between = layerActivationBytes(model, { ...plan, recompute: 'full' }, tokens);
  const inside = layerActivationBytes(model, { ...plan, recompute: 'none' }, tokens);
  const kept = Math.max(...mostKeptLayers(setting));
  const most = Math.min(
    MOST_LAYERS_OF_A_SECTION,
    Math.floor(model.layers / (plan.mesh.pipeline * plan.chunks)),
  );
  const bytesOf = (layers: number) => (kept * between) / layers + layers * inside;
  let checkpointEvery = 1;
  while (checkpointEvery < most && bytesOf(checkpointEvery + 1) < bytesOf(checkpointEvery)) checkpointEvery++;
  return { recompute: 'full', checkpointEvery };
}

function sized(base: Base, choice: Choice, { model, cluster }: Space, limitBytes: number): Sized {
  const given = { ...base, ...choice };
  const setting = settingOfParts(given, model, cluster);
  const { plan } = setting;
  const tokens = tokensOf({ ...setting, rows: largestRows(plan) });
  const memory = deviceMemory(model, plan, tokens, mostKeptLayers(setting));
  const memoryBytes = totalBytes(memory);
  const hostMemoryBytes = hostBytes(model, plan, Math.min(cluster.devices, cluster.devicesPerHost));
  const fits = memoryBytes <= limitBytes && hostMemoryBytes <= cluster.hostMemoryBytes;
  return { given, setting, memory, memoryBytes, hostMemoryBytes, fits };
}
