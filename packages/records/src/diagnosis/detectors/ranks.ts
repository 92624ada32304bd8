import type { Detector, Finding } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import { gainOf, type Edit } from '../replay.js';
import type { RankStep, Run } from '../run.js';
import { foreignProcessors, rateOf } from '../samples.js';
import { median, sum } from '../statistics.js';

const busyMs = ({ ms, waitedMs }: RankStep) => ms - waitedMs;

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
  needs: { steps: ['exposed', 'blocked'], ranks: 2 },
  find(run) {
    const slowest = run.steps[0]!.map((_, step) => {
      const busy = run.steps.map((steps) => busyMs(steps[step]!));
      return busy.indexOf(Math.max(...busy));
    });
    const counts = run.numbers.map((_, i) => slowest.filter((each) => each === i).length);
    const rank = counts.indexOf(Math.max(...counts));
    const own = median(run.steps[rank]!.map(busyMs));
    const others = othersOf(run, rank, busyMs);
    const ratio = own / others;
    const always = counts[rank]! / run.length;
    if (ratio < 1.1 || always < 0.8) return undefined;
    const edit: Edit = (cost, _, index) =>
      index === rank ? { ...cost, before: cost.before / ratio, after: cost.after / ratio } : cost;
    const gain = gainOf(run, { mid: edit });
    const { cause, advice } = causeOf(run, rank, own - others);
    const number = run.numbers[rank]!;
    return {
      id: 'slow-rank',
      severity: ratio >= 1.33 ? 'critical' : 'warning',
      share: gain.mid,
      evidence: [
        {
          quantity: `busy time of rank ${number}, of that of the others`,
          value: ratio,
          unit: 'times',
          limit: 1.1,
        },
        {
          quantity: `steps in which rank ${number} is the slowest`,
          value: 100 * always,
          unit: '%',
          limit: 80,
        },
        { quantity: `busy time of rank ${number}`, value: own, unit: 'ms a step' },
      ],
      cause: `Rank ${number} ${cause}, and all others wait for it.`,
      ranks: [number],
      since: null,
      advice,
      change: null,
      gain,
    };
  },
};

function othersOf(run: Run, rank: number, of: (step: RankStep) => number): number {
  return median(run.steps.filter((_, i) => i !== rank).map((steps) => median(steps.map(of))));
}

/** The part that explains at least 80 % of what the rank needs more. */
function causeOf(
  run: Run,
  rank: number,
  excess: number,
): { readonly cause: string; readonly advice: string } {
  const [queue, queueOfOthers] = [rateOf(run, rank, 'runQueueMs'), otherRates(run, rank)];
  if (queue - queueOfOthers > 0.1)
    return {
      cause: `waits for a processor in ${(100 * queue).toFixed(0)} % of the time`,
      advice: 'Look for other programs on its processors, and for a limit or a binding of the rank.',
    };
  const part = PARTS.find(
    ({ of }) => median(run.steps[rank]!.map(of)) - othersOf(run, rank, of) >= 0.8 * excess,
  );
  return part ?? { cause: 'is slower in several parts of the step', advice: 'Profile this rank.' };
}

function otherRates(run: Run, rank: number): number {
  return median(run.numbers.flatMap((_, i) => (i === rank ? [] : [rateOf(run, i, 'runQueueMs')])));
}

/** The communication that is left on the rank that comes last. */
function sharedMs(run: Run, step: number): number {
  return Math.min(...run.steps.map((steps) => steps[step]!.waitedMs));
}

function communicationShare(run: Run): number {
  const shared = run.steps[0]!.map((_, step) => sharedMs(run, step));
  const times = run.steps[0]!.map((_, step) => Math.max(...run.steps.map((steps) => steps[step]!.ms)));
  return sum(shared) / sum(times);
}

const keepShared =
  (kept: number): Edit =>
  (cost) => ({ ...cost, shared: cost.shared * kept });

/** The share of the processors that other programs may use. */
const MOST_FOREIGN = 0.3;
const MIB = 2 ** 20;
/** The default of `ddp.bucketBytes`. */
const BUCKET_BYTES = 25 * MIB;

/** The time in communication that nothing hides, and why. */
export const commBound: Detector = {
  id: 'comm-bound',
  needs: { steps: ['exposed', 'blocked', 'bytesSent'], facts: ['options', 'processors'], ranks: 2 },
  find(run) {
    const share = communicationShare(run);
    if (share < 0.1) return undefined;
    const bytes = median(run.steps[0]!.map(({ row }) => row.bytesSent));
    const micro = Number(optionOf(run, 'gradientAccumulationSteps') ?? 1);
    const isDdp = run.facts!.strategy === 'ddp';
    const finding = { ...commonFinding(run, share, bytes) };
    const bucketBytes = Number(optionOf(run, 'ddp.bucketBytes') ?? BUCKET_BYTES);
    if (isDdp && optionOf(run, 'ddp.syncEachBatch') === true && micro > 1)
      return reduceEachMicro(run, finding, micro);
    if (isDdp && bucketBytes < BUCKET_BYTES && bytes / bucketBytes >= 8)
      return smallBuckets(run, finding, bytes / bucketBytes);
    // Communication also waits for a processor.
    const foreign = Math.max(...run.numbers.map((_, i) => foreignProcessors(run, i)));
    if (foreign > MOST_FOREIGN * run.facts!.processors)
      return 'other programs use the processors, and communication waits for them, too';
    const hook = optionOf(run, 'ddp.commHook');
    const canShrink = isDdp && hook === undefined;
    return {
      ...finding,
      advice: canShrink
        ? 'Send gradients in 16 bits, accumulate several micro-batches a step, or use a faster network between the ranks.'
        : 'Accumulate several micro-batches a step, or use a faster network between the ranks.',
      change: canShrink ? changeOf(run, 'ddp.commHook', 'bf16') : null,
      gain: canShrink
        ? gainOf(run, { low: keepShared(1), mid: keepShared(0.5), high: keepShared(0.5) })
        : gainOf(run, { mid: keepShared(0.5), low: keepShared(1), high: keepShared(0) }),
    };
  },
};

type Common = Omit<Finding, 'advice' | 'change' | 'gain'>;

function commonFinding(run: Run, share: number, bytes: number): Common {
  return {
    id: 'comm-bound',
    severity: share >= 0.2 ? 'critical' : 'warning',
    share,
    evidence: [
      { quantity: 'communication that nothing hides', value: 100 * share, unit: '% of the time', limit: 10 },
      { quantity: 'sent by a rank', value: bytes / MIB, unit: 'MiB a step' },
    ],
    cause: 'The ranks wait until their gradients have travelled.',
    ranks: run.numbers,
    since: null,
  };
}

function reduceEachMicro(run: Run, common: Common, micro: number): Finding {
  return {
    ...common,
    id: 'reduce-each-micro',
    cause: `Gradients are reduced over the ranks after each of ${micro} micro-batches.`,
    advice: 'Reduce them once, at the end of the window.',
    change: changeOf(run, 'ddp.syncEachBatch', false),
    gain: gainOf(run, { mid: keepShared(1 / micro) }),
  };
}

function smallBuckets(run: Run, common: Common, buckets: number): Finding {
  return {
    ...common,
    id: 'small-buckets',
    evidence: [...common.evidence, { quantity: 'buckets', value: buckets, unit: 'a step', limit: 8 }],
    cause: 'Gradients travel in many small buckets, and each of them costs a collective.',
    advice: 'Make buckets larger.',
    change: changeOf(run, 'ddp.bucketBytes', BUCKET_BYTES),
    gain: gainOf(run, { low: keepShared(0.5), mid: keepShared(1 / buckets), high: keepShared(0) }),
  };
}
