import type { StepRow } from '../../format.js';
import type { Detector, Evidence, Gain, Needs } from '../finding.js';
import { axisSize, changeOf, optionOf } from '../options.js';
import { gainOf, type Edit } from '../replay.js';
import { isPipeline, type RankStep, type Run } from '../run.js';
import { queuedRanks } from '../samples.js';
import { severityOf, severityOfRatio } from '../severity.js';
import { correlation, lowTenth, max, mean, median, min, sum } from '../statistics.js';
import { busyMs, computesMore } from './ranks.js';

/** A rank that is the slowest in so many steps is a slow rank. */
const ALWAYS = 0.8;

/** The work of ranks differs, and another one has most of it in each step. */
export const unevenWork: Detector = {
  id: 'uneven-work',
  needs: {
    steps: ['forward', 'backward', 'exposed', 'replay'],
    samples: ['runQueueMs'],
    facts: ['strategy'],
    ranks: 2,
    passes: true,
  },
  find(run) {
    if (isPipeline(run.facts)) return undefined;
    const queued = queuedRanks(run);
    if (queued) return queued;
    const works = run.steps[0]!.map((_, step) => run.steps.map((steps) => steps[step]!.computeMs));
    const slowest = works.map((work) => work.indexOf(max(work)));
    const counts = run.numbers.map((_, i) => slowest.filter((each) => each === i).length);
    const ratio = sum(works.map(max)) / sum(works.map(mean));
    if (ratio < 1.1 || max(counts) >= ALWAYS * run.length || !isMixed(works)) return undefined;
    if (run.steps.flat().some(({ row }) => row.replay > 0))
      return 'the times of replays do not tell more work from pauses of the processor';
    const together = passesTogether(run);
    if (!(together >= TOGETHER)) return undefined;
    const means = new Map(run.steps[0]!.map(({ row }, step) => [row.step, mean(works[step]!)]));
    const edit: Edit = (cost, { row, computeMs }) => ({
      ...cost,
      before: Math.max(0, cost.before - computeMs + means.get(row.step)!),
    });
    const gain = gainOf(run, { mid: edit });
    return {
      id: 'uneven-work',
      severity: severityOfRatio(ratio),
      share: gain.mid,
      evidence: unevenEvidence(ratio, max(counts) / run.length, together),
      cause: 'In each step another rank has more work than the others, which wait for it.',
      ranks: run.numbers,
      since: null,
      advice:
        'Give the ranks equal work in each step: batches of samples of similar length, or a sampler that balances lengths over the ranks.',
      change: null,
      gain,
    };
  },
};

function unevenEvidence(ratio: number, most: number, together: number): Evidence[] {
  return [
    { quantity: 'work of the slowest rank of a step, of the mean', value: ratio, unit: 'times', limit: 1.1 },
    {
      quantity: 'steps in which the same rank is the slowest',
      value: 100 * most,
      unit: '%',
      limit: 100 * ALWAYS,
    },
    { quantity: 'correlation of forward and backward passes', value: together, unit: '', limit: TOGETHER },
  ];
}

/** More work takes longer in both passes. A pause of the processor is in one of them. */
const TOGETHER = 0.8;

/** How much the differences of ranks in the forward passes of steps go with those in the backward passes. */
function passesTogether(run: Run): number {
  const differences = (of: (row: StepRow) => number) =>
    run.steps[0]!.flatMap((_, step) => {
      const times = run.steps.map((steps) => of(steps[step]!.row));
      return times.map((ms) => ms - mean(times));
    });
  return correlation(
    differences(({ forward }) => forward),
    differences(({ backward }) => backward),
  );
}

/** Work that differs by chance alone is a few steps of some rank. Most steps differ here. */
function isMixed(works: readonly (readonly number[])[]): boolean {
  return works.filter((work) => max(work) >= 1.1 * mean(work)).length >= works.length / 3;
}

const OF_PIPELINE: Needs = {
  steps: ['communicating'],
  samples: ['runQueueMs'],
  facts: ['strategy', 'options', 'ranks'],
  ranks: 2,
  passes: true,
};

/** Pauses of the processor alone do not make the fastest steps of a stage so much longer than the mean. */
const SURE = 1.3;

/** One stage of a pipeline has more work than the others. */
export const stageImbalance: Detector = {
  id: 'stage-imbalance',
  needs: OF_PIPELINE,
  find(run) {
    if (!isPipeline(run.facts)) return undefined;
    const queued = queuedRanks(run);
    // The fastest steps have few pauses of the processor.
    const busy = run.steps.map((steps) => (queued ? lowTenth : median)(steps.map(busyMs)));
    const ratio = max(busy) / mean(busy);
    if (queued && ratio < SURE) return queued;
    // Else it is a slow rank.
    if (ratio < 1.1 || !computesMore(run, busy.indexOf(max(busy)))) return undefined;
    // The slowest stage afterwards: layers move as a whole.
    const edit =
      (slowest: number): Edit =>
      (cost, _, index) => ({
        before: cost.before * Math.min(1, slowest / busy[index]!),
        shared: cost.shared * (slowest / max(busy)),
        after: cost.after,
      });
    const { mid: best, low: least } = afterMoves(run, busy);
    const gain = gainOf(run, { low: edit(least), mid: edit(best), high: edit(mean(busy)) });
    const rank = run.numbers[busy.indexOf(max(busy))]!;
    const isNamed = optionOf(run, 'pipeline.stages') !== undefined;
    return {
      id: 'stage-imbalance',
      severity: severityOfRatio(ratio),
      share: gain.mid,
      evidence: [
        { quantity: 'the slowest stage, of the mean', value: ratio, unit: 'times', limit: 1.1 },
        { quantity: `busy time of rank ${rank}`, value: max(busy), unit: 'ms a step' },
        { quantity: 'mean busy time of a rank', value: mean(busy), unit: 'ms a step' },
      ],
      cause: `The stage of rank ${rank} has more work than the others, and they wait for it.`,
      ranks: [rank],
      since: null,
      advice: isNamed
        ? 'Leave out pipeline.stages: the layers are then timed, and divided evenly. Or move layers to other stages.'
        : 'Name the layers of each stage (pipeline.stages), with fewer ones there.',
      change: isNamed ? changeOf(run, 'pipeline.stages', null) : null,
      gain,
    };
  },
};

interface Slowest {
  readonly mid: number;
  readonly low: number;
}

/** The slowest stage if layers move. All layers of a stage take as long as each other, as far as is known. */
function afterMoves(run: Run, busy: readonly number[]): Slowest {
  const half = (max(busy) + mean(busy)) / 2;
  const stages = optionOf(run, 'pipeline.stages');
  const isKnown = Array.isArray(stages) && stages.length === busy.length && stages.every(Array.isArray);
  if (!isKnown) return { mid: half, low: max(busy) };
  const layers = (stages as unknown[][]).flatMap(({ length }, i) =>
    Array.from({ length }, () => busy[i]! / length),
  );
  const best = slowestPart(layers, busy.length);
  return { mid: best, low: (best + max(busy)) / 2 };
}

/** The least possible sum of the longest of `parts` parts of a list, each of neighbours, at least one. */
function slowestPart(times: readonly number[], parts: number): number {
  // By the place that the parts begin with.
  let least = times.map((_, i) => sum(times.slice(i)));
  for (let count = 2; count <= parts; count++) {
    const fewer = least;
    least = times.map((_, i) =>
      min(fewer.slice(i + 1).map((rest, j) => Math.max(sum(times.slice(i, i + 1 + j)), rest))),
    );
  }
  return least[0]!;
}

/** Micro-batches for each stage that leave little of the bubble. */
const PER_STAGE = 4;

/** Stages of a pipeline wait at the start and at the end of each step. */
export const bubble: Detector = {
  id: 'bubble',
  needs: OF_PIPELINE,
  find(run) {
    if (!isPipeline(run.facts)) return undefined;
    const queued = queuedRanks(run);
    if (queued) return queued;
    const stages = axisSize(run, 'pipeline');
    const { count: micro, parts } = microBatchesOf(run, stages);
    const share = min(
      run.steps.map((steps) => sum(steps.map(({ waitedMs }) => waitedMs)) / sum(steps.map(({ ms }) => ms))),
    );
    const isZero = optionOf(run, 'pipeline.schedule') === 'zeroBubble';
    const ofSchedule = (stages - 1) / (parts + stages - 1);
    if (share < 0.15 || ofSchedule < 0.13) return undefined;
    const { more, gain } = bestMicroBatches(run, {
      micro,
      stages,
      bySchedule: Math.min(1, ofSchedule / share),
    });
    const pays = gain.mid >= LEAST_GAIN;
    return {
      id: 'bubble',
      severity: severityOf(share, 0.3),
      share: Math.min(share, ofSchedule),
      evidence: bubbleEvidence({ share, ofSchedule, micro, stages }),
      cause: `With ${micro} micro-batches, the ${stages} stages wait at the start and at the end of each step.`,
      ranks: run.numbers,
      since: null,
      advice: pays
        ? `Use more micro-batches, ${more} or another number that divides the batch${isZero ? '' : ', or the schedule zeroBubble'}.`
        : `Use larger batches, with more micro-batches${isZero ? '' : ', or the schedule zeroBubble'}. Smaller micro-batches would take as long for their calls as they save.`,
      change: pays ? changeOf(run, 'pipeline.microBatches', more) : null,
      gain,
    };
  },
};

/** A change that saves less is not advised. */
const LEAST_GAIN = 0.03;

interface Micro {
  readonly micro: number;
  readonly stages: number;
  /** The part of the waits that is that of the schedule. */
  readonly bySchedule: number;
}

/** The number of micro-batches that gains most. Each of them has the same JavaScript between its kernels. */
function bestMicroBatches(run: Run, { micro, stages, bySchedule }: Micro): { more: number; gain: Gain } {
  const most = Math.max(PER_STAGE * stages, 2 * micro);
  const between = run.steps.map(betweenKernels);
  const keep =
    (waits: number, more: number): Edit =>
    (cost, _, index) => ({
      ...cost,
      before: cost.before + between[index]! * (more / micro - 1),
      shared: cost.shared * waits,
    });
  const all: { more: number; gain: Gain }[] = [];
  for (let more = most; more >= 2 * micro; more = Math.floor(more / 2)) {
    const kept = micro / more;
    const [low, mid, high] = [1, 1 - bySchedule * (1 - kept), kept].map((waits) => keep(waits, more));
    all.push({ more, gain: gainOf(run, { low: low!, mid: mid!, high: high! }) });
  }
  return all.reduce((best, each) => (each.gain.mid > best.gain.mid ? each : best));
}

/** The time of a step of a rank between its kernels, in milliseconds. 0: its calls were not counted. */
function betweenKernels(steps: readonly RankStep[]): number {
  const [counted, others] = [true, false].map((is) => steps.filter(({ row }) => row.calls > 0 === is));
  // Counting takes time of its own.
  const kernels = median(counted!.map(({ row }) => row.kernels));
  return Math.max(0, median(others!.map(({ computeMs }) => computeMs)) - kernels) || 0;
}

interface Bubble {
  readonly share: number;
  readonly ofSchedule: number;
  readonly micro: number;
  readonly stages: number;
}

function bubbleEvidence({ share, ofSchedule, micro, stages }: Bubble): Evidence[] {
  const unit = '% of the time';
  return [
    { quantity: 'waiting, of the stage that waits least', value: 100 * share, unit, limit: 15 },
    { quantity: 'of it by the schedule', value: 100 * ofSchedule, unit, limit: 13 },
    { quantity: 'micro-batches', value: micro, unit: `for ${stages} stages` },
  ];
}

interface MicroBatches {
  readonly count: number;
  /** The micro-batches by which plain schedules have the same bubble. */
  readonly parts: number;
}

/**
 * The micro-batches of a step, by its backward passes: `pipelined` may be given another number than the
 * option is. Passes of replays are not counted.
 */
function microBatchesOf(run: Run, stages: number): MicroBatches {
  const window = Number(optionOf(run, 'gradientAccumulationSteps') ?? 1);
  const passes = run.steps.map((steps) =>
    median(steps.flatMap(({ row }) => (row.passes > 0 ? [row.passes] : []))),
  );
  // The first stage has a pass for each micro-batch, and others have two: NaN if it is not known.
  const known = min(passes) / window;
  // The default is the number of stages.
  const given = Number(optionOf(run, 'pipeline.microBatches') ?? stages);
  switch (optionOf(run, 'pipeline.schedule')) {
    case 'zeroBubble': {
      const count = known / 2 || given;
      return { count, parts: 3 * count };
    }
    case 'interleaved':
      return { count: given, parts: Math.max(given, (known + given) / 2 || 2 * given) };
    default:
      return { count: known || given, parts: known || given };
  }
}
