import type { Detector } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import { gainOf, less } from '../replay.js';
import type { RankStep, Run } from '../run.js';
import { severityOf } from '../severity.js';
import { max, median, sum } from '../statistics.js';

const percent = (share: number) => 100 * share;

/** The steps of a rank in which something took time. */
function stepsWith(run: Run, of: (step: RankStep) => number): readonly RankStep[] {
  return run.steps[0]!.filter((step) => of(step) > 0);
}

/** The median distance of these steps. NaN: there are less than two. */
function distanceOf(steps: readonly RankStep[]): number {
  return median(steps.slice(1).map(({ row }, i) => row.step - steps[i]!.row.step));
}

/** The part of an evaluation that is left if it is half as frequent, or has half of its rows. */
const HALF = 0.5;

/** Predictions take much of the time. */
export const evalHeavy: Detector = {
  id: 'eval-heavy',
  needs: { steps: ['evaluation'], passes: true },
  find(run) {
    const ofStep = ({ row }: RankStep) => row.evaluation || 0;
    const share = run.share(ofStep);
    if (share < 0.2) return undefined;
    const steps = stepsWith(run, ofStep);
    const every = distanceOf(steps);
    return {
      id: 'eval-heavy',
      severity: severityOf(share, 0.4),
      share,
      evidence: [
        { quantity: 'evaluation', value: percent(share), unit: '% of the time', limit: 20 },
        { quantity: 'an evaluation', value: median(steps.map(ofStep)), unit: 'ms' },
        { quantity: 'every', value: every, unit: 'steps' },
      ],
      cause: `Predictions between the steps of the training take this time${every > 1 ? `, in every ${every} steps` : ''}.`,
      ranks: run.numbers,
      since: null,
      advice: 'Evaluate half as often, or on half of the rows. The gain is that of one of the two.',
      change: null,
      gain: gainOf(run, {
        low: less((step) => HALF * HALF * ofStep(step)),
        mid: less((step) => HALF * ofStep(step)),
        high: less(ofStep),
      }),
    };
  },
};

/** The loop reads values of tensors, and waits for them. */
export const syncRead: Detector = {
  id: 'sync-read',
  needs: { steps: ['reads'] },
  find(run) {
    const ofStep = ({ row }: RankStep) => row.reads || 0;
    const share = run.share(ofStep);
    if (share < 0.03) return undefined;
    const every = distanceOf(stepsWith(run, ofStep));
    return {
      id: 'sync-read',
      severity: severityOf(share),
      share,
      evidence: [
        { quantity: 'waiting for values of tensors', value: percent(share), unit: '% of the time', limit: 3 },
        { quantity: 'waiting for them', value: share * run.stepMs, unit: 'ms a step' },
        { quantity: 'every', value: every, unit: 'steps' },
      ],
      cause: 'The loop reads values of tensors (dataSync, data, arraySync), and waits until they are there.',
      ranks: run.numbers,
      since: null,
      advice: 'Read them every N steps. autoLog reads the losses of several steps at once.',
      change: null,
      gain: gainOf(run, { low: less((step) => 0.5 * ofStep(step)), mid: less(ofStep) }),
    };
  },
};

const RARER = 10;

/** Trackers keep the main thread. */
export const loggingSlow: Detector = {
  id: 'logging-slow',
  needs: { steps: ['logging'], facts: ['options'] },
  find(run) {
    const ofStep = ({ row }: RankStep) => row.logging || 0;
    const shares = run.steps.map((steps) => sum(steps.map(ofStep)) / sum(steps.map(({ ms }) => ms)));
    // Most programs log on the first rank alone, for which the others wait.
    const share = max(shares);
    if (share < 0.03) return undefined;
    const rank = shares.indexOf(share);
    const steps = run.steps[rank]!.filter((step) => ofStep(step) > 0);
    const every = distanceOf(steps);
    const ofAutoLog = Number(optionOf(run, 'autoLog.every') ?? RARER);
    const isAutoLog = every >= ofAutoLog;
    return {
      id: 'logging-slow',
      severity: severityOf(share),
      share,
      evidence: [
        { quantity: 'trackers', value: percent(share), unit: '% of the time', limit: 3 },
        { quantity: 'calls of trackers', value: median(steps.map(ofStep)), unit: 'ms, where they are made' },
        { quantity: 'every', value: every, unit: 'steps' },
      ],
      cause: 'Trackers keep the main thread while they take the figures of the run.',
      ranks: [run.numbers[rank]!],
      since: null,
      advice: `Log every ${RARER * Math.max(1, every || 1)} steps, or fewer figures at once, or leave out the tracker that is slow.`,
      change: isAutoLog ? changeOf(run, 'autoLog.every', RARER * ofAutoLog) : null,
      gain: gainOf(run, {
        low: less((step) => 0.5 * ofStep(step)),
        mid: less((step) => (1 - 1 / RARER) * ofStep(step)),
        high: less(ofStep),
      }),
    };
  },
};
