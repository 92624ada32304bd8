import { beforeAll, describe, expect, inject, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import * as tf from '@tensorflow/tfjs';
import { FEATURES, INCLUDED, REFUSALS, type Feature } from '../../../packages/core/src/presets/composes.js';
import { onRanks } from '../on-ranks.js';
import { expectNear } from '../transformer/compare.js';
import type { Args } from './ranks/train.js';
import { testFewerBits } from './test-fewer-bits.js';
import { AXES, train, type Trained } from './train.js';

const ALL = Object.keys(FEATURES) as Feature[];
/** Strategies other than those that `mesh` chooses exist for themselves. */
const STRATEGIES: readonly Feature[] = ['single', 'ownStrategy', 'ownSharding', 'sharedRows'];
/** Options of ddp, which have no effect on fsdp. */
const OF_DDP: readonly Feature[] = ['commHook', 'hookState', 'syncAtApply', 'syncEachBatch', 'batchNorm'];
/** Each of them has two ranks. */
const isAxis = (feature: Feature) =>
  feature === 'sharedRows' || (AXES as readonly Feature[]).includes(feature);

/** Calls and options with which the page has a column besides the axes. On the axis data. */
const OTHER_COLUMNS: readonly Feature[] = ['deterministic', 'compile'];

/** All pairs of an axis and another feature, those of the other columns, and all refusals. */
const EVERY: readonly (readonly Feature[])[] = unique([
  ...AXES.flatMap((axis) =>
    ALL.filter((other) => !STRATEGIES.includes(other) && !(axis === 'fsdp' && OF_DDP.includes(other))).map(
      (other) => [axis, other],
    ),
  ),
  ...OTHER_COLUMNS.flatMap((column) =>
    ALL.filter((other) => !STRATEGIES.includes(other)).map((other) => ['data' as const, column, other]),
  ),
  ...REFUSALS.map(({ of }) => of),
]);

const refusalOf = (features: readonly Feature[]) =>
  REFUSALS.find(({ of }) => of.every((feature) => features.includes(feature)));
/** In `npm test`, mesh-pairs has the pairs of axes alone. */
const COMBINATIONS = EVERY.filter(
  (features) => inject('isRelease') || refusalOf(features) || !features.every(isAxis) || features.length < 2,
);

/** Ranks of these train apart, or round what they send: only that they end with finite values is known. */
const LOOSE: readonly Feature[] = ['apart', 'noSync', 'commHook', 'hookState', 'fsdpPrecision'];
/** Beside these, a compiled step runs without replays, and says so. */
const PLAIN: readonly Feature[] = ['deterministic'];
/** Features that change what one process trains. The others leave the numbers as they are. */
const CHANGING: readonly Feature[] = [
  ...['expert', 'deterministic', 'mixedPrecision', 'clipping', 'accumulation', 'adafactor', 'compile'],
  'quantized',
] as Feature[];

const nameOf = (features: readonly Feature[]) => features.map((feature) => FEATURES[feature]).join(' × ');
const isLoose = (features: readonly Feature[]) => features.some((feature) => LOOSE.includes(feature));

const found = new Map<string, (Trained | string)[]>();
const alone = new Map<string, Trained>();
const sameAlone = (features: readonly Feature[]) => CHANGING.filter((each) => features.includes(each));

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  for (const features of COMBINATIONS) {
    if (refusalOf(features) || isLoose(features)) continue;
    const same = sameAlone(features);
    if (!alone.has(nameOf(same))) alone.set(nameOf(same), await train(same, true));
  }
  for (const ranks of [1, 2, 4]) await trainOn(ranks);
}, 600_000);

/** Trains the combinations whose mesh has this number of ranks. */
async function trainOn(ranks: number): Promise<void> {
  const combinations = COMBINATIONS.filter((features) => 2 ** features.filter(isAxis).length === ranks);
  const args: Args = { combinations };
  const module = new URL('./ranks/train.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const ofRanks = await onRanks<(Trained | string)[]>({ module, ranks, args, env, timeoutMs: 400_000 });
  combinations.forEach((features, i) => {
    found.set(
      nameOf(features),
      ofRanks.map((each) => each[i]!),
    );
  });
}

const named = (list: readonly (readonly Feature[])[]) =>
  list.map((features) => [nameOf(features), features] as const);

it.each(named(COMBINATIONS.filter(refusalOf)))('%s: every rank refuses it', (name, features) => {
  expect(found.get(name)).toEqual(found.get(name)!.map(() => refusalOf(features)!.code));
});

describe.each(named(COMBINATIONS.filter((features) => !refusalOf(features))))('%s', (name, features) => {
  it('trains', () => {
    const ofRanks = found.get(name)!;
    for (const each of ofRanks) expect(typeof each === 'string' ? each : 'trained').toBe('trained');
    const [first, ...others] = ofRanks as Trained[];
    if (features.includes('compile'))
      expect(first!.replays > 0).toBe(!PLAIN.some((each) => features.includes(each)));
    expect(Object.values(first!.weights).flat().every(Number.isFinite)).toBe(true);
    if (features.includes('noSync')) return;
    for (const each of others) expect(each.weights).toEqual(first!.weights);
    if (isLoose(features)) return;
    const expected = alone.get(nameOf(sameAlone(features)))!;
    const rtol = features.includes('mixedPrecision') ? 2e-2 : 1e-4;
    expectNear([first!.loss], [expected.loss], rtol);
    for (const [weight, values] of Object.entries(expected.weights)) {
      expectNear(first!.weights[weight]!, values, rtol, 1);
    }
  });
});

testFewerBits();

/** With all features that others include, without repetitions, in any order. */
function unique(list: readonly (readonly Feature[])[]): Feature[][] {
  const complete = list.map((features) => {
    const all = new Set(features.flatMap((feature) => [feature, ...(INCLUDED[feature] ?? [])]));
    return ALL.filter((feature) => all.has(feature));
  });
  return [...new Map(complete.map((features) => [features.join(), features])).values()];
}
