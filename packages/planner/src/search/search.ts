import { parseOptions } from '@acc/contract';
import { clusterOf } from '../cluster.js';
import { constantsOf, type Constant } from '../constants.js';
import { modelOf } from '../model.js';
import { requireFullRecompute } from '../plan.js';
import { predictionOf } from '../predict.js';
import { leastStepSeconds } from '../time/step.js';
import { createOptionsOf } from './create-options.js';
import { impossible, nothingFits } from './errors.js';
import { searchSchema, type SearchOptions } from './options.js';
import { partsOf, plannedOf, type PlannedRun, type UnfitPlan } from './planned.js';
import { basesOf, mayNeedLess, type Space } from './space.js';
import { variantsOf, type Sized } from './variants.js';

/** Numbers of plans that a search has looked at. The first is the sum of the others. */
export interface SearchCounts {
  readonly considered: number;
  /** Not enough memory. Larger micro-batches than one that needs too much are not counted, unless they may need less. */
  readonly tooLarge: number;
  /** Slower than the plans that are given, by a bound that needs no simulation. */
  readonly tooSlow: number;
  readonly simulated: number;
}

export interface FoundPlans {
  /** The fastest first. */
  readonly plans: readonly PlannedRun[];
  /** Layouts of which no plan fits, the fastest first if they did, and what they lack. */
  readonly doNotFit: readonly UnfitPlan[];
  readonly counts: SearchCounts;
  /** Bytes of a device that a plan may take. */
  readonly limitBytes: number;
  readonly constants: readonly Constant[];
}

/**
 * Searches the plan with which a step takes least time, by the model of `predict`: mesh, stage, micro-batch,
 * schedule, precision and activation checkpointing. Of all that fit, none is faster by that model.
 *
 * @throws AccError `ACC_PLAN_IMPOSSIBLE` if no plan keeps the constraints, `ACC_PLAN_NOTHING_FITS` if none
 * fits, and those of `predict`.
 */
export function findPlans(options: SearchOptions): FoundPlans {
  const {
    constraints: kept,
    globalBatch,
    count,
    memoryFraction,
    ...given
  } = parseOptions('plan', searchSchema, options);
  requireFullRecompute('constraints', kept);
  const model = modelOf(given.model, given.sequence);
  const cluster = clusterOf(given.cluster);
  const limitBytes = memoryFraction * cluster.device.memoryBytes;
  const space: Space = { model, cluster, globalBatch, kept, refuse: () => {} };
  const { fitting, unfit, considered } = sorted(space, limitBytes);
  if (considered === 0) throw impossible(space);
  if (fitting.length === 0) throw nothingFits(space, limitBytes, unfit);
  const { plans, simulated } = fastest(fitting, count);
  return {
    plans: plans.map((plan) => plannedOf(plan, (full) => createOptionsOf(full, model))),
    doNotFit: unfitLayouts(fitting, unfit),
    counts: {
      ...{ considered, simulated, tooSlow: fitting.length - simulated },
      tooLarge: considered - fitting.length,
    },
    limitBytes,
    constants: constantsOf(plans[0]!.sized.setting),
  };
}

/** All plans of the space, by whether they fit. */
function sorted(space: Space, limitBytes: number) {
  const fitting: Sized[] = [];
  const unfit: Sized[] = [];
  let considered = 0;
  for (const bases of basesOf(space)) {
    let isTooLarge = false;
    for (const base of bases) {
      if (isTooLarge && !mayNeedLess(base)) continue;
      const variants = variantsOf(base, space, limitBytes);
      const fit = variants.filter(({ fits }) => fits);
      considered += variants.length;
      fitting.push(...fit);
      if (fit.length > 0) continue;
      unfit.push(smallestOf(variants));
      isTooLarge = true;
    }
  }
  return { fitting, unfit, considered };
}

const smallestOf = (plans: readonly Sized[]): Sized =>
  plans.reduce((least, plan) => (plan.memoryBytes < least.memoryBytes ? plan : least));

/** The fastest plans. A plan is simulated only if its bound is below the slowest of those found so far. */
function fastest(fitting: readonly Sized[], count: number) {
  const bounded = fitting
    .map((sized) => ({ sized, bound: leastStepSeconds(sized.setting) }))
    .sort((a, b) => a.bound - b.bound);
  const found: { sized: Sized; prediction: ReturnType<typeof predictionOf> }[] = [];
  let simulated = 0;
  for (const { sized, bound } of bounded) {
    if (found.length === count && bound >= found.at(-1)!.prediction.stepSeconds) break;
    simulated++;
    found.push({ sized, prediction: predictionOf(sized.setting) });
    found.sort((a, b) => a.prediction.stepSeconds - b.prediction.stepSeconds);
    if (found.length > count) found.pop();
  }
  return { plans: found, simulated };
}

const SHOWN = 5;

/** Of each mesh without a plan that fits, the one that needs least. */
function unfitLayouts(fitting: readonly Sized[], unfit: readonly Sized[]): UnfitPlan[] {
  const keyOf = ({ setting }: Sized) => JSON.stringify(setting.plan.mesh);
  const possible = new Set(fitting.map(keyOf));
  const least = new Map<string, Sized>();
  for (const plan of unfit) {
    const key = keyOf(plan);
    if (!possible.has(key)) least.set(key, smallestOf([plan, least.get(key) ?? plan]));
  }
  return [...least.values()]
    .map((sized) => ({ sized, atLeastSeconds: leastStepSeconds(sized.setting) }))
    .sort((a, b) => a.atLeastSeconds - b.atLeastSeconds)
    .slice(0, SHOWN)
    .map(({ sized, atLeastSeconds }) => ({ ...partsOf(sized), atLeastSeconds }));
}
