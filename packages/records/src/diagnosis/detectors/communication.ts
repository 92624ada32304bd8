import type { Detector, Finding } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import { gainOf, type Edit } from '../replay.js';
import { isPipeline, type Run } from '../run.js';
import { foreignProcessors, hostProcessors, MOST_QUEUE, mostQueued, ranksOnHost } from '../samples.js';
import { severityOf } from '../severity.js';
import { max, median, min, sum } from '../statistics.js';
import { criticalBatch } from './batch.js';

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
    if (isPipeline(run.facts)) return 'the stages of a pipeline wait for each other by design';
    const bytes = median(run.steps[0]!.map(({ row }) => row.bytesSent));
    const finding = commonFinding(run, share, bytes);
    const isDdp = strategy === 'ddp';
    const ofOption = isDdp
      ? (reduceEachMicro(run, finding) ??
        smallBuckets(run, finding, bytes) ??
        noOverlap(run, finding) ??
        lastBucket(run, finding, bytes))
      : undefined;
    if (ofOption) return ofOption;
    const busy = busyProcessors(run);
    if (busy) return busy;
    return wrongStrategy(run, finding) ?? accumulateMore(run, finding) ?? slowTransport(run, finding);
  },
};

/** No option explains the time: fewer bytes help, or fewer steps, or another network. */
function slowTransport(run: Run, common: Common): Finding {
  return run.facts!.strategy === 'ddp' && optionOf(run, 'ddp.commHook') === undefined
    ? {
        ...common,
        advice:
          'Send gradients in 16 bits, accumulate several micro-batches a step, or use a faster network between the ranks.',
        change: changeOf(run, 'ddp.commHook', 'bf16'),
        gain: gainOf(run, { low: keepShared(1), mid: keepShared(0.5) }),
      }
    : {
        ...common,
        advice: 'Accumulate several micro-batches a step, or use a faster network between the ranks.',
        change: null,
        gain: null,
      };
}

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
    severity: severityOf(share),
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

/** The part of the time of small buckets that is that of their collectives. Bytes take the rest. */
const OF_CALLS = { low: 0.3, mid: 0.5 };

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
    gain: gainOf(run, {
      low: keepShared(1 - OF_CALLS.low),
      mid: keepShared(1 - OF_CALLS.mid * (1 - left / buckets)),
      high: keepShared(left / buckets),
    }),
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

/** The part of a pass that communication beside it hides, if the ranks have processors for both. */
const HIDDEN = { mid: 0.5, high: 1 };

/** Takes off the communication that a backward pass would hide. */
const hideBehind =
  (part: number): Edit =>
  (cost, { row }) => ({ ...cost, shared: Math.max(0, cost.shared - part * row.backward) });

/** Gradients are reduced when the backward pass is over. */
function noOverlap(run: Run, common: Common): Finding | undefined {
  if (optionOf(run, 'ddp.syncAt') !== 'apply') return undefined;
  return {
    ...common,
    id: 'no-overlap',
    cause: 'Gradients are reduced over the ranks after the backward pass, which could hide that.',
    advice:
      "Reduce them during the backward pass, unless the loop must see this rank's own gradients before the optimizer.",
    change: changeOf(run, 'ddp.syncAt', 'backward'),
    gain: gainOf(run, {
      low: keepShared(1),
      mid: hideBehind(HIDDEN.mid),
      high: hideBehind(HIDDEN.high),
    }),
  };
}

const MORE_BUCKETS = 4;

/** One bucket has all gradients, and is full when the backward pass is over. */
function lastBucket(run: Run, common: Common, bytes: number): Finding | undefined {
  const bucketBytes = Number(optionOf(run, 'ddp.bucketBytes') ?? BUCKET_BYTES);
  const ranks = run.numbers.length;
  // As rings send it: 2 (n - 1) / n of the bytes of the gradients.
  const gradients = (bytes * ranks) / (2 * (ranks - 1));
  if (bucketBytes <= BUCKET_BYTES || gradients > bucketBytes || gradients < MORE_BUCKETS * MIB)
    return undefined;
  const to = Math.min(BUCKET_BYTES, MIB * Math.max(1, Math.round(gradients / MORE_BUCKETS / MIB)));
  // The last bucket is still sent when the pass is over.
  const last = Math.min(1, to / gradients);
  const edit =
    (part: number): Edit =>
    (cost, step, index) => ({
      ...cost,
      shared: Math.max(last * cost.shared, hideBehind(part)(cost, step, index).shared),
    });
  return {
    ...common,
    id: 'last-bucket',
    evidence: [
      ...common.evidence,
      { quantity: 'gradients', value: gradients / MIB, unit: 'MiB' },
      { quantity: 'size of a bucket', value: bucketBytes / MIB, unit: 'MiB', limit: BUCKET_BYTES / MIB },
    ],
    cause: 'All gradients travel in one bucket, which is full only when the backward pass is over.',
    advice: 'Make buckets smaller, so that the first ones travel during the backward pass.',
    change: changeOf(run, 'ddp.bucketBytes', to),
    gain: gainOf(run, { low: keepShared(1), mid: edit(HIDDEN.mid), high: edit(HIDDEN.high) }),
  };
}

const MORE_MICRO = 4;

/** Batches are far below the critical one, so larger ones reach a loss with nearly as few samples. */
function accumulateMore(run: Run, common: Common): Finding | undefined {
  const critical = criticalBatch(run);
  const batch = median(run.steps[0]!.map(({ row }) => row.samples));
  if (critical === undefined || !(batch < critical / MORE_MICRO)) return undefined;
  const micro = Number(optionOf(run, 'gradientAccumulationSteps') ?? 1);
  // The times of one of the micro-batches.
  const edit =
    (kept: number): Edit =>
    (cost) => ({ ...cost, shared: cost.shared * kept, after: cost.after / MORE_MICRO });
  return {
    ...common,
    id: 'accumulate-more',
    evidence: [
      ...common.evidence,
      { quantity: 'samples of a step', value: batch, unit: '', limit: critical / MORE_MICRO },
      { quantity: 'critical batch, by the noise of the gradients', value: critical, unit: 'samples' },
    ],
    cause: `Gradients travel after every ${batch} samples, and ${MORE_MICRO} times as many would teach nearly as much each.`,
    advice: `Accumulate ${MORE_MICRO * micro} micro-batches a step, with a learning rate for them. The gain is that of a sample.`,
    change: changeOf(run, 'gradientAccumulationSteps', MORE_MICRO * micro),
    gain: gainOf(run, { low: edit(0.5), mid: edit(1 / MORE_MICRO) }),
  };
}
