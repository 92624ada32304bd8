import type { RecordedRun } from './diagnosis/run.js';
import type { Facts } from './facts.js';
import type { SampleRow, StepRow } from './format.js';

/** A healthy step of 10 ms. */
const STEP: StepRow = {
  ...{ step: 0, start: 0, end: 0, forward: 3, backward: 6, optimizer: 1, exposed: 0, blocked: 0, replay: 0 },
  ...{ bytesSent: 0, samples: 32, tokens: NaN, flops: NaN, loss: NaN, gradNorm: NaN },
  ...{ allocatedBytes: 1e6, peakBytes: 2e6, nonFinite: NaN, learningRate: 0.001, tensors: 100 },
  ...{
    loader: 0,
    saves: 0,
    gc: NaN,
    calls: NaN,
    kernels: NaN,
    passes: 1,
    communicating: 0,
    recordings: 0,
    ownLoss: NaN,
  },
  ...{ evaluation: 0, reads: 0, logging: 0, expertLoad: 0, reservedBytes: NaN, ownGradNorm: NaN },
  ...{ weightNorm: NaN, gradRatio: NaN, zeroUnits: NaN, unusedVariables: NaN },
};

const FACTS: Facts = {
  ...{ rank: 0, ranks: 1, host: 'a', processors: 2, threads: 1, memoryBytes: 1e10 },
  ...{ backend: 'acc', device: 'cpu', strategy: 'ddp', options: {}, createdAt: 'train.ts:3:7' },
};

/** How the records of {@link syntheticRun} differ from those of a healthy run. */
export interface Synthetic {
  /** Default 1. */
  readonly ranks?: number;
  /** Default 120. */
  readonly steps?: number;
  readonly facts?: Partial<Facts>;
  /** Returns the figures that differ from those of a healthy step. `ms` is the time of the step. */
  readonly step?: (step: number, rank: number) => Partial<StepRow> & { readonly ms?: number };
  /** Rates of the counters of a process, a second. */
  readonly rates?: Partial<Record<keyof SampleRow, number>>;
}

/**
 * Records of a run that was not run, for tests of detectors: healthy steps of 10 ms, with what `given`
 * changes. Figures of the loss are known in every 10th step.
 */
export function syntheticRun(given: Synthetic = {}): RecordedRun {
  const { ranks = 1 } = given;
  const numbers = Array.from({ length: ranks }, (_, rank) => rank);
  return {
    ranks: numbers.map((rank) => {
      const steps = stepsOf(given, rank, ranks);
      const facts = { ...FACTS, ranks, rank, ...given.facts };
      return { rank, steps, samples: samplesOf(steps.at(-1)?.end ?? 0, given.rates), facts };
    }),
    problems: [],
  };
}

function stepsOf({ steps = 120, step: change }: Synthetic, rank: number, ranks: number): StepRow[] {
  let end = 0;
  return Array.from({ length: steps }, (_, i) => {
    const step = i + 2;
    const { ms = 10, ...row } = change?.(step, rank) ?? {};
    const start = end;
    end += ms;
    const isDue = step % 10 === 0;
    const loss = 2.3 * 0.99 ** step;
    const due = isDue ? { nonFinite: 0, loss, ownLoss: loss * (1 + 0.01 * rank), gradNorm: 1 } : {};
    const looked = isPowerOf2(step / 10) ? { ...LOOKED, ownGradNorm: ownNorm(ranks) } : {};
    return { ...STEP, step, start, end, ...due, ...looked, ...row };
  });
}

/** Figures of gradients and weights, in every set of figures whose number is a power of 2. */
const LOOKED = { reservedBytes: 2e6, weightNorm: 10, gradRatio: 1, zeroUnits: 0, unusedVariables: 0 };

const isPowerOf2 = (n: number) => Number.isInteger(n) && (n & (n - 1)) === 0;

/** The norm on a rank if that of all is 1, and the critical batch is 64 samples, of 32 in a step. */
const ownNorm = (ranks: number) => Math.sqrt(1 + (64 / 3) * ((ranks - 1) / 32));

function samplesOf(end: number, rates: Synthetic['rates'] = {}): SampleRow[] {
  const all = { rssBytes: 0, cpuMs: 1000, stealMs: 0, majorFaults: 0, minorFaults: 0, ...rates };
  const others = { involuntarySwitches: 0, runQueueMs: 0, hostBusyMs: 1000, collectives: 100, ...rates };
  const held = { throttledMs: 0, memoryStallMs: 0, ...rates };
  return Array.from({ length: Math.floor(end / 250) + 1 }, (_, i) => {
    const counted = Object.entries({ ...all, ...others, ...held }).map(([name, rate]) => [
      name,
      (rate * i) / 4,
    ]);
    const now = { time: 250 * i, rssBytes: rates.rssBytes ?? 1e8, isInCollective: 0 };
    return { ...(Object.fromEntries(counted) as SampleRow), ...now };
  });
}
