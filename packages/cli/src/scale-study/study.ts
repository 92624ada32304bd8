import { median, type Finding, type StepTimes, type TimeShares } from '@acc/records';
import {
  fitAmdahl,
  fitGustafson,
  fitUsl,
  karpFlatt,
  LEAST_FOR_FIT,
  linearFactor,
  type SerialFit,
  type UslFit,
} from './fits.js';

/** Whether the batch of each rank stays (`weak`), or that of all ranks together (`strong`). */
export type ScalingKind = 'weak' | 'strong';

/** A run of the program. */
export interface StudyRun {
  readonly ranks: number;
  /** From 1. */
  readonly turn: number;
  /** The folder with its records. */
  readonly folder: string;
  readonly times: StepTimes;
}

/** The median over the turns, and the smallest and the largest value. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The figures of a number of ranks. */
export interface SizeFigures {
  readonly ranks: number;
  readonly stepMs: Spread;
  readonly samplesPerSecond: Spread;
  /** Of a step, of all ranks. */
  readonly samples: number;
  /** The rate divided by that of the fewest ranks. */
  readonly speedUp: number;
  /** The speed-up divided by how many times more ranks there are. */
  readonly efficiency: number;
  /** The serial share by Karp and Flatt. Null for the fewest ranks. */
  readonly karpFlatt: number | null;
  /** The parts of the time. Null: not known, on a GPU. */
  readonly shares: TimeShares | null;
  /** Sent by a rank in a step. */
  readonly bytesSent: number;
}

export interface StudyPlan {
  readonly kind: ScalingKind;
  readonly script: string;
  readonly args: readonly string[];
  readonly turns: number;
  /** Threads of each rank. */
  readonly threads: number;
  /** Cores that this process may use. */
  readonly cores: number;
}

/** The result of a study. */
export interface Study extends StudyPlan {
  readonly sizes: readonly SizeFigures[];
  /** The slope of the line through the origin nearest to the speed-ups: 1 if they are linear. */
  readonly linearFactor: number;
  /** Of a strong study. Null: of a weak one, or too few numbers of ranks. */
  readonly amdahl: SerialFit | null;
  /** Of a weak study. Null: of a strong one, or too few numbers of ranks. */
  readonly gustafson: SerialFit | null;
  /** Null: too few numbers of ranks. */
  readonly usl: UslFit | null;
  /** Whether there are enough numbers of ranks to say that a law holds. */
  readonly isFit: boolean;
  /** The findings of `acc diagnose` in a run with the most ranks. */
  readonly findings: readonly Finding[];
  /** Why runs are missing. Undefined: there are all. */
  readonly unfinished?: string;
}

/** Computes the figures of a study from its runs. */
export function studyOf(plan: StudyPlan, runs: readonly StudyRun[], findings: readonly Finding[]): Study {
  const counts = [...new Set(runs.map(({ ranks }) => ranks))].toSorted((a, b) => a - b);
  const ofRanks = counts.map((ranks) => runs.filter((run) => run.ranks === ranks));
  const base = { ranks: counts[0]!, rate: spreadOf(ofRanks[0]!, rateOf).median };
  const sizes = ofRanks.map((each) => figuresOf(each, base));
  const rates = sizes.map(({ ranks, samplesPerSecond }) => ({ ranks, rate: samplesPerSecond.median }));
  const points = sizes.map(({ ranks, speedUp }) => ({ times: ranks / base.ranks, speedUp }));
  return {
    ...plan,
    sizes,
    linearFactor: linearFactor(points),
    amdahl: (plan.kind === 'strong' && fitAmdahl(rates)) || null,
    gustafson: (plan.kind === 'weak' && fitGustafson(rates)) || null,
    usl: fitUsl(rates) ?? null,
    isFit: counts.length >= LEAST_FOR_FIT,
    findings,
  };
}

const rateOf = ({ times }: StudyRun): number => times.samplesPerSecond;

function figuresOf(
  runs: readonly StudyRun[],
  base: { readonly ranks: number; readonly rate: number },
): SizeFigures {
  const { ranks } = runs[0]!;
  const times = ranks / base.ranks;
  const samplesPerSecond = spreadOf(runs, rateOf);
  const speedUp = samplesPerSecond.median / base.rate;
  const { shares, samples, bytesSent } = middleOf(runs).times;
  return {
    ranks,
    stepMs: spreadOf(runs, (run) => run.times.stepMs),
    samplesPerSecond,
    samples,
    speedUp,
    efficiency: speedUp / times,
    karpFlatt: times === 1 ? null : karpFlatt(speedUp, times),
    shares: shares ?? null,
    bytesSent,
  };
}

/** The run whose rate is the median, or the one below it. */
export function middleOf(runs: readonly StudyRun[]): StudyRun {
  return runs.toSorted((a, b) => rateOf(a) - rateOf(b))[(runs.length - 1) >> 1]!;
}

function spreadOf(runs: readonly StudyRun[], of: (run: StudyRun) => number): Spread {
  const values = runs.map(of);
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) };
}
