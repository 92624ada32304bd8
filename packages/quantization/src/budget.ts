import { nextFrame } from '@tensorflow/tfjs-core';
import { invalid } from './errors.js';
import type { WeightSettings } from './options.js';
import { measure, requireQuantizable } from './pack.js';
import type { QuantizableLayer } from './quantizable-layers.js';
import { settingsOf } from './settings.js';

/** A layer, and how it is packed. */
export interface PlannedLayer extends QuantizableLayer {
  readonly settings: WeightSettings;
}

/** A format for a layer. */
export interface Candidate<Settings = WeightSettings> {
  readonly settings: Settings;
  readonly bytes: number;
  /** The power of the errors over that of the values. */
  readonly noise: number;
}

/** Formats with ever more bits: int4 in smaller and smaller groups, then int8. */
const FORMATS = [
  ...([128, 64, 32] as const).map((group) => ({ weights: 'int4', granularity: { group } }) as const),
  { weights: 'int8', granularity: 'row' } as const,
];

/**
 * Chooses the format of each layer so that all have at most `bitsPerWeight` on average. Each layer begins
 * with the fewest bits. Then the step to more bits with which the sum of the layers' ratios of noise to
 * signal falls most for each byte is taken, until none fits. "HAWQ-V3" (Yao et al. 2021) makes this choice
 * by integer programming.
 *
 * @throws AccError `ACC_INVALID_OPTION` for fewer bits than the layers need; as {@link requireQuantizable}.
 */
export async function plannedLayers(
  chosen: readonly QuantizableLayer[],
  bitsPerWeight: number,
  algorithm: WeightSettings['algorithm'],
): Promise<PlannedLayer[]> {
  const lists: Candidate[][] = [];
  for (const layer of chosen) {
    lists.push(candidatesOf(layer, algorithm));
    // The program's timers and messages get a turn.
    await nextFrame();
  }
  const size = chosen.reduce((sum, layer) => sum + sizeOf(layer), 0);
  const picked = pickedWithin((bitsPerWeight * size) / 8, lists);
  if (!picked) {
    const least = lists.reduce((sum, [first]) => sum + first!.bytes, 0);
    throw tooFewBits(bitsPerWeight, (8 * least) / size);
  }
  return chosen.map((layer, i) => ({ ...layer, settings: picked[i]!.settings }));
}

const sizeOf = ({ weights }: QuantizableLayer): number =>
  weights.reduce((sum, { weight }) => sum + weight.read().size, 0);

/** Formats that fit all weights of a layer, fewer bytes first. */
function candidatesOf({ weights }: QuantizableLayer, algorithm: WeightSettings['algorithm']): Candidate[] {
  return FORMATS.flatMap((format) => {
    const isInt8 = format.weights === 'int8';
    const { granularity } = format;
    const columns = weights.map(({ weight: each, axis }) => {
      const { shape, size } = each.read();
      return size / (axis === 'first' ? shape[0]! : shape.at(-1)!);
    });
    if (typeof granularity === 'object' && columns.some((count) => count % granularity.group !== 0))
      return [];
    const settings = settingsOf('quantize', {
      ...format,
      algorithm: isInt8 ? 'nearest' : algorithm,
      activations: 'none',
    });
    for (const { weight, axis } of weights) requireQuantizable(weight.read(), settings, axis);
    const facts = weights.map(({ weight, axis }) => measure(weight.read(), settings, axis));
    const total = (key: 'bytes' | 'noise' | 'signal') => facts.reduce((sum, fact) => sum + fact[key], 0);
    return [{ settings, bytes: total('bytes'), noise: total('noise') / (total('signal') || 1) }];
  });
}

/** One of each list. Undefined if the first ones have too many bytes. */
export function pickedWithin<Settings>(
  bytes: number,
  lists: readonly (readonly Candidate<Settings>[])[],
): Candidate<Settings>[] | undefined {
  const picked = lists.map((list) => list[0]!);
  let rest = bytes - picked.reduce((sum, each) => sum + each.bytes, 0);
  if (rest < 0) return undefined;
  for (;;) {
    const steps = lists.flatMap((list, i) =>
      list.map((to) => ({ i, to, cost: to.bytes - picked[i]!.bytes, gain: picked[i]!.noise - to.noise })),
    );
    const best = steps
      .filter(({ cost, gain }) => cost > 0 && cost <= rest && gain > 0)
      .reduce<(typeof steps)[number] | undefined>(
        (most, each) => (!most || each.gain / each.cost > most.gain / most.cost ? each : most),
        undefined,
      );
    if (!best) return picked;
    picked[best.i] = best.to;
    rest -= best.cost;
  }
}

function tooFewBits(bits: number, least: number) {
  return invalid(
    'quantize',
    `bitsPerWeight: ${bits} is less than the ${least.toFixed(2)} bits that these layers need with the fewest: int4 in groups, or int8 where no group divides a channel.`,
    `Write at least ${(Math.ceil(least * 100) / 100).toFixed(2)}.${bits < 3 ? ' Weights of 1 or 2 bits lose too much when they are rounded after training.' : ''}`,
  );
}
