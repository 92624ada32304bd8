import type { Detector, Evidence, Finding } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import { gainOf, type Edit } from '../replay.js';
import type { RankStep, Run } from '../run.js';
import {
  foreignProcessors,
  hostProcessors,
  MOST_QUEUE,
  mostQueued,
  ranksOnHost,
  rateOf,
} from '../samples.js';
import { max, mean, median, min, sum } from '../statistics.js';

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
    if (run.facts!.strategy.startsWith('pipeline') && computesMore(run, rank)) return undefined;
    const edit: Edit = (cost, _, index) =>
      index === rank ? { ...cost, before: cost.before / ratio, after: cost.after / ratio } : cost;
    const gain = gainOf(run, { mid: edit });
    const { cause, advice } = causeOf(run, rank, own - others);
    const number = run.numbers[rank]!;
    return {
      id: 'slow-rank',
      severity: ratio >= 1.33 ? 'critical' : 'warning',
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

/** The communication that is left on the rank that comes last. */
function sharedMs(run: Run, step: number): number {
  return min(run.steps.map((steps) => steps[step]!.waitedMs));
}

function communicationShare(run: Run): number {
  const shared = run.steps[0]!.map((_, step) => sharedMs(run, step));
  const times = run.steps[0]!.map((_, step) => max(run.steps.map((steps) => steps[step]!.ms)));
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

/** Below this size, the time of a bucket is that of its collective rather than of its bytes. */
const SMALL_BUCKET = 100 * 2 ** 10;
const FEW_BUCKETS = 8;

/** The time in communication that nothing hides, and why. */
export const commBound: Detector = {
  id: 'comm-bound',
  needs: { steps: ['exposed', 'bytesSent'], facts: ['options', 'strategy'], ranks: 2, passes: true },
  find(run) {
    const share = communicationShare(run);
    if (share < 0.1) return undefined;
    const { strategy } = run.facts!;
    if (strategy.startsWith('pipeline')) return 'the stages of a pipeline wait for each other by design';
    const bytes = median(run.steps[0]!.map(({ row }) => row.bytesSent));
    const finding = commonFinding(run, share, bytes);
    const isDdp = strategy === 'ddp';
    const ofOption = isDdp ? (reduceEachMicro(run, finding) ?? smallBuckets(run, finding, bytes)) : undefined;
    if (ofOption) return ofOption;
    const busy = busyProcessors(run);
    if (busy) return busy;
    const ofStrategy = wrongStrategy(run, finding);
    if (ofStrategy) return ofStrategy;
    return isDdp && optionOf(run, 'ddp.commHook') === undefined
      ? {
          ...finding,
          advice:
            'Send gradients in 16 bits, accumulate several micro-batches a step, or use a faster network between the ranks.',
          change: changeOf(run, 'ddp.commHook', 'bf16'),
          gain: gainOf(run, { low: keepShared(1), mid: keepShared(0.5) }),
        }
      : {
          ...finding,
          advice: 'Accumulate several micro-batches a step, or use a faster network between the ranks.',
          change: null,
          gain: null,
        };
  },
};

/** Communication also waits for a processor. In a container, other programs are not seen, but the queue is. */
function busyProcessors(run: Run): string | undefined {
  const queue = mostQueued(run);
  if (queue > MOST_QUEUE)
    return `ranks waited for a processor in ${(100 * queue).toFixed(0)} % of the time, and so does communication`;
  const foreign = max(run.numbers.map((_, i) => foreignProcessors(run, i) / hostProcessors(run, i)));
  return foreign > MOST_FOREIGN
    ? 'other programs use the processors, and communication waits for those too'
    : undefined;
}

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
    cause: `The ranks wait until ${travellersOf(run)} have travelled.`,
    ranks: run.numbers,
    since: null,
  };
}

/** The values that ranks send each other. */
function travellersOf(run: Run): string {
  if (Number(optionOf(run, 'mesh.tensor') ?? 1) > 1) return 'activations and gradients';
  if (run.facts!.strategy === 'fsdp') return 'weights and gradients';
  return run.facts!.strategy === 'ddp' ? 'their gradients' : 'their values';
}

function reduceEachMicro(run: Run, common: Common): Finding | undefined {
  const micro = Number(optionOf(run, 'gradientAccumulationSteps') ?? 1);
  if (optionOf(run, 'ddp.syncEachBatch') !== true || micro <= 1) return undefined;
  return {
    ...common,
    id: 'reduce-each-micro',
    cause: `Gradients are reduced over the ranks after each of ${micro} micro-batches.`,
    advice: 'Reduce them once, at the end of the window.',
    change: changeOf(run, 'ddp.syncEachBatch', false),
    gain: gainOf(run, { mid: keepShared(1 / micro) }),
  };
}

function smallBuckets(run: Run, common: Common, bytes: number): Finding | undefined {
  const bucketBytes = Number(optionOf(run, 'ddp.bucketBytes') ?? BUCKET_BYTES);
  const buckets = bytes / bucketBytes;
  if (bucketBytes >= SMALL_BUCKET || buckets < FEW_BUCKETS) return undefined;
  const left = Math.ceil(bytes / BUCKET_BYTES);
  return {
    ...common,
    id: 'small-buckets',
    evidence: [
      ...common.evidence,
      { quantity: 'size of a bucket', value: bucketBytes / 1024, unit: 'KiB', limit: SMALL_BUCKET / 1024 },
      { quantity: 'buckets, at most', value: buckets, unit: 'a step', limit: FEW_BUCKETS },
    ],
    cause: 'Gradients travel in many small buckets, and each of them costs a collective.',
    advice: 'Make buckets larger.',
    change: changeOf(run, 'ddp.bucketBytes', BUCKET_BYTES),
    gain: gainOf(run, { low: keepShared(0.5), mid: keepShared(left / buckets), high: keepShared(0) }),
  };
}

/** The part of the memory that replicas of all weights may fill. */
const MOST_MEMORY = 0.6;
/** Stage 3 sends the weights twice and the gradients once, in place of the gradients twice. */
const OF_SHARDED = 2 / 3;

/** Weights are sharded although each rank has room for all of them. */
function wrongStrategy(run: Run, common: Common): Finding | undefined {
  const { strategy, memoryBytes } = run.facts!;
  const isNamed = optionOf(run, 'strategy') === 'fsdp' && optionOf(run, 'mesh') === undefined;
  const stage = optionOf(run, 'fsdp.stage') ?? 3;
  const peaks = run.steps.flat().flatMap(({ row }) => (row.peakBytes > 0 ? [row.peakBytes] : []));
  if (strategy !== 'fsdp' || !isNamed || (stage !== 3 && stage !== 'FULL_SHARD') || peaks.length === 0)
    return undefined;
  // A rank has a part of the weights and of their state, and all of its activations.
  const onHost = max(run.numbers.map((_, i) => ranksOnHost(run, i).length));
  const replicas = max(peaks) * run.numbers.length * onHost;
  // Not known: NaN.
  if (!(replicas <= MOST_MEMORY * memoryBytes)) return undefined;
  return {
    ...common,
    id: 'wrong-strategy',
    evidence: [
      ...common.evidence,
      {
        quantity: 'memory with all weights on each rank, at most',
        value: (100 * replicas) / memoryBytes,
        unit: '% of the memory',
        limit: 100 * MOST_MEMORY,
      },
    ],
    cause:
      'Ranks gather the weights of each layer in both passes, although each rank has room for all of them.',
    advice: 'Keep all weights on each rank: only gradients travel then.',
    change: changeOf(run, 'strategy', 'ddp'),
    gain: gainOf(run, { low: keepShared(1), mid: keepShared(OF_SHARDED), high: keepShared(OF_SHARDED / 2) }),
  };
}
