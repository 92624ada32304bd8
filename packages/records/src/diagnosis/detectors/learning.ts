import type { StepRow } from '../../format.js';
import type { Detector, Evidence, Finding } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import type { Run } from '../run.js';
import { deviation, line, max, mean, median, min } from '../statistics.js';

/** Rows of the first rank whose learning figures are known: those of all ranks together. */
function dueRows(run: Run): readonly StepRow[] {
  return run.allRows(0).filter(({ nonFinite }) => nonFinite >= 0);
}

const FEW = 'no figures of the loss: autoLog logs them every `autoLog.every` steps';

/** The loss or the gradients are no numbers any more. */
export const nonFinite: Detector = {
  id: 'non-finite',
  needs: { facts: ['options'], minSteps: 1 },
  find(run) {
    const rows = dueRows(run);
    if (rows.length === 0) return FEW;
    // Steps that overflow now and then are part of training in fp16.
    const lastFinite = rows.findLastIndex((row) => row.nonFinite === 0);
    const bad = rows[lastFinite + 1];
    const isFp16 = optionOf(run, 'mixedPrecision') === 'fp16';
    if (!bad || (isFp16 && isOverflow(rows, lastFinite + 1))) return undefined;
    const last = run.allRows(0).at(-1)!.step;
    const share = (last - bad.step + 1) / last;
    const clips = optionOf(run, 'gradientClipping.norm') !== undefined;
    const from = lastFinite < 0 ? 1 : rows[lastFinite]!.step + 1;
    return {
      id: 'non-finite',
      severity: 'critical',
      share,
      evidence: [
        { quantity: 'steps since then', value: 100 * share, unit: '% of the run' },
        { quantity: 'learning rate', value: bad.learningRate, unit: '' },
        { quantity: 'last known norm of gradients', value: lastNorm(rows, lastFinite), unit: '' },
      ],
      cause: `The loss or the gradients are NaN or infinite since a step from ${from} to ${bad.step}.`,
      ranks: run.numbers,
      since: run.since(bad),
      advice: isFp16
        ? 'Use bf16, whose range is that of float32.'
        : 'Lower the learning rate, clip gradients, and look for log(0) and divisions by 0 in the loss.',
      change: isFp16
        ? changeOf(run, 'mixedPrecision', 'bf16')
        : clips
          ? null
          : changeOf(run, 'gradientClipping.norm', 1),
      gain: null,
    };
  },
};

const OVERFLOWS = 3;

/** The scale of the loss in fp16 is lowered after gradients overflow, so a few of them are no fault. */
function isOverflow(rows: readonly StepRow[], from: number): boolean {
  const lossIsKnown = rows.some(({ loss }) => Number.isFinite(loss));
  const isLossBad = lossIsKnown && rows.slice(from).some(({ loss }) => !Number.isFinite(loss));
  return !isLossBad && rows.length - from < OVERFLOWS;
}

function lastNorm(rows: readonly StepRow[], lastFinite: number): number {
  return lastFinite < 0 ? NaN : rows[lastFinite]!.gradNorm;
}

const WINDOW = 10;
/** Figures after a jump that are high, too. */
const STAYS = 3;

/** The loss jumps, and stays high. */
export const lossSpike: Detector = {
  id: 'loss-spike',
  needs: { facts: ['options'] },
  find(run) {
    const rows = dueRows(run).filter(({ loss }) => Number.isFinite(loss));
    if (rows.length <= WINDOW)
      return `only ${rows.length} figures of the loss, of ${WINDOW + 1} that are needed`;
    for (let i = WINDOW; i < rows.length; i++) {
      const before = rows.slice(Math.max(0, i - 2 * WINDOW), i).map(({ loss }) => loss);
      const [middle, highest] = [median(before), max(before)];
      const spread = Math.max(deviation(before), 0.01 * Math.abs(middle));
      const { loss } = rows[i]!;
      if (loss <= middle + 6 * spread || loss <= highest + 0.5 * Math.abs(highest)) continue;
      if (rows.slice(i + 1, i + 1 + STAYS).filter((row) => row.loss > highest).length < STAYS) continue;
      const after = rows.slice(i).filter((row) => row.loss > highest).length;
      const share = after / rows.length;
      if (share < 0.03) continue;
      return {
        id: 'loss-spike',
        severity: after === rows.length - i ? 'critical' : 'warning',
        share,
        evidence: [
          { quantity: 'loss', value: loss, unit: '', limit: middle + 6 * spread },
          { quantity: 'median loss before', value: middle, unit: '' },
          { quantity: 'learning rate', value: rows[i]!.learningRate, unit: '' },
        ],
        cause: `The loss jumps at step ${rows[i]!.step}, and is above its earlier values in ${after} of ${rows.length - i} figures since.`,
        ranks: run.numbers,
        since: run.since(rows[i]!),
        advice:
          'Lower the learning rate or warm it up, clip gradients, and look at the batches of that step.',
        change:
          optionOf(run, 'gradientClipping.norm') === undefined
            ? changeOf(run, 'gradientClipping.norm', 1)
            : null,
        gain: null,
      };
    }
    return undefined;
  },
};

/** Steps after which a training from the start should have learned something. */
const LEARNING_STEPS = 100;

/** The loss does not fall. */
export const notLearning: Detector = {
  id: 'not-learning',
  needs: { minSteps: LEARNING_STEPS / 2 },
  find(run) {
    const all = run.allRows(0);
    if (all[0]!.step > 2) return 'the run was resumed, so its first losses are not those of a start';
    const rows = dueRows(run).filter(({ loss }) => Number.isFinite(loss));
    if (rows.length < WINDOW || all.length < LEARNING_STEPS)
      return `fewer than ${LEARNING_STEPS} steps, or ${WINDOW} figures of the loss`;
    const why = whyNotLearning(rows);
    if (!why) return undefined;
    return rateRises(rows) ? 'the learning rate still rises' : notLearningOf(run, rows, why);
  },
};

type Why = Pick<Finding, 'cause' | 'advice' | 'severity'> & { readonly evidence: Evidence };

/** Undefined: the loss falls, or has fallen. */
function whyNotLearning(rows: readonly StepRow[]): Why | undefined {
  const losses = rows.map(({ loss }) => loss);
  const classes = guessedClasses(losses);
  if (classes !== undefined) return guessing(losses, classes);
  const [first, last] = [mean(losses.slice(0, 3)), mean(lastOf(losses))];
  const fallen = (first - last) / Math.abs(first);
  // A loss that was lower in between has been learned, and lost again.
  const hadFallen = min(losses) < first - 0.1 * Math.abs(first);
  if (fallen > 0.01 || hadFallen || !Number.isFinite(fallen)) return undefined;
  return standingStill(rows, fallen);
}

/** Whether the learning rate rises in the last quarter of the figures. */
function rateRises(rows: readonly StepRow[]): boolean {
  const rates = lastOf(rows).map(({ learningRate }) => learningRate);
  return rates.at(-1)! > rates[0]!;
}

function notLearningOf(run: Run, rows: readonly StepRow[], { evidence, ...why }: Why): Finding {
  const rate = { quantity: 'learning rate', value: rows.at(-1)!.learningRate, unit: '' };
  return {
    ...{ id: 'not-learning', share: 1, evidence: [evidence, rate], ...why },
    ...{ ranks: run.numbers, since: null, change: null, gain: null },
  };
}

function standingStill(rows: readonly StepRow[], fallen: number): Why {
  const { slope, t } = line(
    rows.map(({ step }) => step),
    rows.map(({ loss }) => loss),
  );
  const evidence = { quantity: 'the loss has fallen by', value: 100 * fallen, unit: '%', limit: 1 };
  const steps = rows.at(-1)!.step;
  if (slope < 0 && t < -5) {
    return {
      evidence,
      severity: 'warning',
      cause: `The loss falls steadily, but by less than 1 % in ${steps} steps: the learning rate is too small.`,
      advice: 'Raise the learning rate, for example tenfold.',
    };
  }
  return {
    evidence,
    severity: 'warning',
    cause: `The loss is where it was at the start, after ${steps} steps.`,
    advice: 'Check that labels belong to their samples, that weights are not frozen, and the learning rate.',
  };
}

const lastOf = <T>(values: readonly T[]) => values.slice(-Math.ceil(values.length / 4));

/** The logarithms of more classes are too near to each other. */
const MOST_CLASSES = 20;

/** The number of classes between which a model guesses, whose cross-entropy is its logarithm. */
function guessedClasses(losses: readonly number[]): number | undefined {
  const numbers = Array.from({ length: MOST_CLASSES - 1 }, (_, i) => i + 2);
  return numbers.find((classes) => {
    const guess = Math.log(classes);
    const last = lastOf(losses).map((loss) => loss / guess);
    const isThere = Math.abs(mean(last) - 1) < 0.01 && last.every((loss) => Math.abs(loss - 1) < 0.03);
    return isThere && min(losses) > 0.97 * guess && neverBetter(losses, guess);
  });
}

/** A loss that fell to a plateau near a guess has learned. One that was there early, or jumped there, has not. */
function neverBetter(losses: readonly number[], guess: number): boolean {
  const isNear = (loss: number) => Math.abs(loss / guess - 1) < 0.03;
  const fromQuarter = losses.slice(Math.ceil(losses.length / 4));
  if (isNear(losses[0]!) || (losses[0]! < 2 * guess && fromQuarter.every(isNear))) return true;
  return losses.some((loss, i) => i > 0 && loss > 10 * losses[i - 1]!);
}

function guessing(losses: readonly number[], classes: number): Why {
  return {
    severity: 'critical',
    evidence: {
      quantity: `loss, of ln ${classes}`,
      value: (100 * mean(lastOf(losses))) / Math.log(classes),
      unit: '%',
      limit: 101,
    },
    cause: `The loss stays at ln ${classes}, that of a guess between ${classes} classes.`,
    advice:
      'Check that labels belong to their samples, and lower the learning rate: after too large updates, units may be 0 for all samples.',
  };
}
