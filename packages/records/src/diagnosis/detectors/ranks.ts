import type { Detector, Evidence } from '../finding.js';
import { gainOf, type Edit } from '../replay.js';
import { isPipeline, type RankStep, type Run } from '../run.js';
import { MOST_QUEUE, rateOf } from '../samples.js';
import { severityOfRatio } from '../severity.js';
import { max, mean, median, sum } from '../statistics.js';

export const busyMs = ({ ms, waitedMs }: RankStep) => ms - waitedMs;

/** The parts of a step in which a rank may be slower than others. */
const PARTS = [
  {
    of: ({ row }: RankStep) => row.loader || 0,
    cause: 'waits longer for its batches',
    advice: 'See data-bound: its disk, its network, or its share of the data is slower.',
  },
  {
    of: ({ row }: RankStep) => row.saves || 0,
    cause: 'waits longer for its checkpoints',
    advice: 'Look at its disk.',
  },
  {
    of: ({ loopMs, row }: RankStep) => loopMs - (row.loader || 0) - (row.saves || 0),
    cause: 'spends longer in the code of its loop',
    advice: 'Find code that only this rank runs.',
  },
  {
    of: ({ computeMs }: RankStep) => computeMs,
    cause: 'computes longer',
    advice: 'Give it as much work as the others (length of sequences, rows), or look at its processor.',
  },
] as const;

/** One rank makes all others wait. */
export const slowRank: Detector = {
  id: 'slow-rank',
  needs: { steps: ['exposed'], facts: ['strategy'], ranks: 2, passes: true },
  find(run) {
    const slowest = slowestRanks(run);
    const counts = run.numbers.map((_, i) => slowest.filter((each) => each === i).length);
    const rank = counts.indexOf(max(counts));
    const own = median(run.steps[rank]!.map(busyMs));
    const others = othersOf(run, rank, busyMs);
    const ratio = own / others;
    const always = counts[rank]! / run.length;
    if (ratio < 1.1 || always < 0.8) return undefined;
    // Stages of a pipeline differ in work: see stage-imbalance.
    if (isPipeline(run.facts) && computesMore(run, rank)) return undefined;
    const edit: Edit = (cost, _, index) =>
      index === rank ? { ...cost, before: cost.before / ratio, after: cost.after / ratio } : cost;
    const gain = gainOf(run, { mid: edit });
    const { cause, advice } = causeOf(run, rank, own - others);
    const number = run.numbers[rank]!;
    return {
      id: 'slow-rank',
      severity: severityOfRatio(ratio),
      share: gain.mid,
      evidence: slowEvidence(number, { ratio, always, own }),
      cause: `Rank ${number} ${cause}, and all others wait for it.`,
      ranks: [number],
      since: null,
      advice,
      change: null,
      gain,
    };
  },
};

function slowEvidence(
  rank: number,
  { ratio, always, own }: { readonly ratio: number; readonly always: number; readonly own: number },
): Evidence[] {
  const ofOthers = `busy time of rank ${rank}, of that of the others`;
  const isSlowest = `steps in which rank ${rank} is the slowest`;
  return [
    { quantity: ofOthers, value: ratio, unit: 'times', limit: 1.1 },
    { quantity: isSlowest, value: 100 * always, unit: '%', limit: 80 },
    { quantity: `busy time of rank ${rank}`, value: own, unit: 'ms a step' },
  ];
}

/** The index of the slowest rank of each step. */
function slowestRanks(run: Run): number[] {
  return run.steps[0]!.map((_, step) => {
    const busy = run.steps.map((steps) => busyMs(steps[step]!));
    return busy.indexOf(max(busy));
  });
}

function othersOf(run: Run, rank: number, of: (step: RankStep) => number): number {
  return median(run.steps.filter((_, i) => i !== rank).map((steps) => median(steps.map(of))));
}

/** Whether a rank is busier than the mean because it computes longer, not because of its loop or its data. */
export function computesMore(run: Run, rank: number): boolean {
  const excess = (of: (step: RankStep) => number) => {
    const times = run.steps.map((steps) => median(steps.map(of)));
    return times[rank]! - mean(times);
  };
  return excess(({ computeMs }) => computeMs) >= 0.5 * excess(busyMs);
}

/** The part that explains at least 80 % of what the rank needs more. */
function causeOf(
  run: Run,
  rank: number,
  excess: number,
): { readonly cause: string; readonly advice: string } {
  const queue = queueOf(run, rank);
  const ofOthers = median(run.numbers.flatMap((_, i) => (i === rank ? [] : [queueOf(run, i)])));
  if (queue - ofOthers > MOST_QUEUE)
    return {
      cause: `waits for a processor in ${(100 * queue).toFixed(0)} % of the time`,
      advice: 'Look for other programs on its processors, and for a limit or a binding of the rank.',
    };
  const part = PARTS.find(
    ({ of }) => median(run.steps[rank]!.map(of)) - othersOf(run, rank, of) >= 0.8 * excess,
  );
  return part ?? { cause: 'is slower in several parts of the step', advice: 'Profile this rank.' };
}

/** The share of its busy time in which a rank waits for a processor. It hardly does while it waits for others. */
function queueOf(run: Run, rank: number): number {
  const steps = run.steps[rank]!;
  const busy = sum(steps.map(busyMs)) / sum(steps.map(({ ms }) => ms));
  return Math.min(1, rateOf(run, rank, 'runQueueMs') / busy);
}
