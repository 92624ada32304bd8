import type { Detector, Evidence } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import { gainOf, type Edit } from '../replay.js';
import type { RankStep, Run } from '../run.js';
import { MOST_QUEUE, mostQueued } from '../samples.js';
import { max, mean, median, min, sum } from '../statistics.js';

const busyMs = ({ ms, waitedMs }: RankStep) => ms - waitedMs;
const isPipeline = (run: Run) => run.facts!.strategy.startsWith('pipeline');

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
    if (isPipeline(run)) return undefined;
    const queue = mostQueued(run);
    if (queue > MOST_QUEUE)
      return `ranks waited for a processor in ${(100 * queue).toFixed(0)} % of the time, which changes the times of passes`;
    const works = run.steps[0]!.map((_, step) => run.steps.map((steps) => steps[step]!.computeMs));
    const slowest = works.map((work) => work.indexOf(max(work)));
    const counts = run.numbers.map((_, i) => slowest.filter((each) => each === i).length);
    const ratio = sum(works.map(max)) / sum(works.map(mean));
    if (ratio < 1.1 || max(counts) >= ALWAYS * run.length || !isMixed(works)) return undefined;
    const means = new Map(run.steps[0]!.map(({ row }, step) => [row.step, mean(works[step]!)]));
    const edit: Edit = (cost, { row, computeMs }) => ({
      ...cost,
      before: Math.max(0, cost.before - computeMs + means.get(row.step)!),
    });
    const gain = gainOf(run, { mid: edit });
    return {
      id: 'uneven-work',
      severity: ratio >= 1.33 ? 'critical' : 'warning',
      share: gain.mid,
      evidence: unevenEvidence(ratio, max(counts) / run.length),
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

function unevenEvidence(ratio: number, most: number): Evidence[] {
  return [
    { quantity: 'work of the slowest rank of a step, of the mean', value: ratio, unit: 'times', limit: 1.1 },
    {
      quantity: 'steps in which the same rank is the slowest',
      value: 100 * most,
      unit: '%',
      limit: 100 * ALWAYS,
    },
  ];
}

/** Work that differs by chance alone is a few steps of some rank. Most steps differ here. */
function isMixed(works: readonly (readonly number[])[]): boolean {
  return works.filter((work) => max(work) >= 1.1 * mean(work)).length >= works.length / 3;
}

/** One stage of a pipeline has more work than the others. */
export const stageImbalance: Detector = {
  id: 'stage-imbalance',
  needs: { steps: ['communicating'], facts: ['strategy', 'options'], ranks: 2, passes: true },
  find(run) {
    if (!isPipeline(run)) return undefined;
    const busy = run.steps.map((steps) => median(steps.map(busyMs)));
    const ratio = max(busy) / mean(busy);
    if (ratio < 1.1) return undefined;
    const edit: Edit = (cost, _, index) => ({
      before: Math.max(0, cost.before * (mean(busy) / busy[index]!)),
      shared: cost.shared / ratio,
      after: cost.after,
    });
    const gain = gainOf(run, { mid: edit });
    const rank = run.numbers[busy.indexOf(max(busy))]!;
    const isNamed = optionOf(run, 'pipeline.stages') !== undefined;
    return {
      id: 'stage-imbalance',
      severity: ratio >= 1.33 ? 'critical' : 'warning',
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

/** Micro-batches for each stage that leave little of the bubble. */
const PER_STAGE = 4;

/** Stages of a pipeline wait at the start and at the end of each step. */
export const bubble: Detector = {
  id: 'bubble',
  needs: { steps: ['communicating'], facts: ['strategy', 'options'], ranks: 2, passes: true },
  find(run) {
    if (!isPipeline(run)) return undefined;
    const stages = stagesOf(run);
    // The default is the number of stages.
    const micro = Number(optionOf(run, 'pipeline.microBatches') ?? stages);
    const share = min(
      run.steps.map((steps) => sum(steps.map(({ waitedMs }) => waitedMs)) / sum(steps.map(({ ms }) => ms))),
    );
    const ofSchedule = (stages - 1) / (micro + stages - 1);
    if (share < 0.15 || ofSchedule < 0.13) return undefined;
    const more = PER_STAGE * stages;
    const kept = micro / more;
    const keep =
      (part: number): Edit =>
      (cost) => ({ ...cost, shared: cost.shared * part });
    return {
      id: 'bubble',
      severity: share >= 0.3 ? 'critical' : 'warning',
      share: Math.min(share, ofSchedule),
      evidence: bubbleEvidence({ share, ofSchedule, micro, stages }),
      cause: `With ${micro} micro-batches, the ${stages} stages wait at the start and at the end of each step.`,
      ranks: run.numbers,
      since: null,
      advice: `Use more micro-batches, ${more} or another number that divides the batch, or the schedule zeroBubble.`,
      change: changeOf(run, 'pipeline.microBatches', more),
      gain: gainOf(run, {
        mid: keep(1 - Math.min(1, ofSchedule / share) * (1 - kept)),
        low: keep(1),
        high: keep(kept),
      }),
    };
  },
};

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

function stagesOf(run: Run): number {
  const given = Number(optionOf(run, 'mesh.pipeline') ?? -1);
  return given > 0 ? given : run.numbers.length;
}
