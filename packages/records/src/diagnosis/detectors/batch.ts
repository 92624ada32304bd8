import type { StepRow } from '../../format.js';
import type { Detector, Finding } from '../finding.js';
import { optionOf } from '../options.js';
import type { Run } from '../run.js';
import { severityOf } from '../severity.js';
import { mean, median } from '../statistics.js';

/** Figures of gradients, at least. */
const LEAST_LOOKS = 4;

/**
 * The critical batch in samples, by the gradients of single ranks and of all of them: the simple noise scale
 * of McCandlish et al., "An Empirical Model of Large-Batch Training", 2018, appendix A.1. Undefined if it is
 * not known, because ranks share samples, figures are few, or the estimate is not positive.
 */
export function criticalBatch(run: Run): number | undefined {
  const estimates = estimatesOf(run);
  if (estimates.length < LEAST_LOOKS) return undefined;
  const noise = mean(estimates.map((each) => each.noise));
  const gradient = mean(estimates.map((each) => each.gradient));
  return noise > 0 && gradient > 0 ? noise / gradient : undefined;
}

/** The noise of the gradient of a sample, tr Σ, and the squared norm of the gradient without noise, |G|². */
interface Estimate {
  readonly noise: number;
  readonly gradient: number;
}

function estimatesOf(run: Run): Estimate[] {
  const ranks = run.numbers.length;
  if (ranks < 2 || run.facts?.strategy !== 'ddp') return [];
  return looksOf(run).map(({ step, gradNorm, samples }) => {
    const squares = mean(ownSquares(run, step));
    const noise = (squares - gradNorm ** 2) / (ranks / samples - 1 / samples);
    return { noise, gradient: gradNorm ** 2 - noise / samples };
  });
}

const isLook = ({ ownGradNorm, gradNorm, samples }: StepRow) =>
  ownGradNorm >= 0 && gradNorm >= 0 && samples > 0;

/** The rows of the first rank with the norms of all ranks. */
function looksOf(run: Run): StepRow[] {
  const others = run.numbers.slice(1).map(
    (_, i) =>
      new Set(
        run
          .allRows(i + 1)
          .filter(isLook)
          .map(({ step }) => step),
      ),
  );
  return run.allRows(0).filter((row) => isLook(row) && others.every((steps) => steps.has(row.step)));
}

/** The squared norm of each rank's own gradients. */
function ownSquares(run: Run, step: number): number[] {
  return run.numbers.map((_, i) => run.allRows(i).find((row) => row.step === step)!.ownGradNorm ** 2);
}

const TIMES = 4;
/** Below this multiple of the critical batch, a batch is too small. */
const SMALL = 1 / 8;

/** The share of a step that is the same for batches of any size: the optimizer and communication. */
function fixedShare(run: Run): number {
  return run.share(({ row, waitedMs, ms, loopMs }) => Math.min(ms - loopMs, (row.optimizer || 0) + waitedMs));
}

/**
 * The time to a loss with batches `times` as large, of that with those of the run. Steps are 1 + critical ÷
 * batch of the least number (McCandlish et al., equation 2.11), and the rest of a step grows with the batch.
 */
function timeToLoss(of: { batch: number; critical: number; fixed: number }, times: number): number {
  const { batch, critical, fixed } = of;
  const step = fixed + (1 - fixed) * times;
  return (step * (1 + critical / (batch * times))) / (1 + critical / batch);
}

interface Judged {
  readonly batch: number;
  readonly critical: number;
  readonly fixed: number;
}

const NOT_KNOWN = `the critical batch is not known: it needs ${LEAST_LOOKS} figures of the gradients of each rank, in the steps 1, 2, 4, 8 times autoLog.every, and gradients that are not all noise`;

/** Undefined: the ranks share samples. */
function judged(run: Run): Judged | string | undefined {
  if (run.facts!.strategy !== 'ddp') return undefined;
  const critical = criticalBatch(run);
  if (critical === undefined) return NOT_KNOWN;
  const batch = median(run.steps[0]!.map(({ row }) => row.samples));
  return { batch, critical, fixed: fixedShare(run) };
}

function findingOf(run: Run, of: Judged): Finding {
  const saved = (fixed: number) => Math.max(0, 1 - timeToLoss({ ...of, fixed }, TIMES));
  const gains = [saved(0.5 * of.fixed), saved(of.fixed), saved(Math.min(1, 1.5 * of.fixed))].toSorted(
    (a, b) => a - b,
  );
  const micro = Number(optionOf(run, 'gradientAccumulationSteps') ?? 1);
  return {
    id: 'batch-small',
    severity: severityOf(saved(of.fixed), 0.5),
    share: saved(of.fixed),
    evidence: [
      { quantity: 'samples of a step', value: of.batch, unit: '', limit: SMALL * of.critical },
      { quantity: 'critical batch, by the noise of the gradients', value: of.critical, unit: 'samples' },
      { quantity: 'optimizer and communication', value: 100 * of.fixed, unit: '% of the time' },
    ],
    cause:
      'Batches are far below the critical one: larger ones would need fewer steps, each with the same optimizer and communication.',
    advice: `Use ${TIMES} times as many samples a step${micro > 1 ? ', and accumulate less' : ''}, with a learning rate that is ${Math.sqrt(TIMES)} times as high for Adam.`,
    ranks: run.numbers,
    since: null,
    change: null,
    gain: { low: gains[0]!, mid: gains[1]!, high: gains[2]!, how: 'formula' },
  };
}

/** Batches are far below the critical one, and steps cost much beside their samples. */
export const batchSmall: Detector = {
  id: 'batch-small',
  needs: {
    steps: ['ownGradNorm', 'gradNorm', 'samples'],
    facts: ['strategy', 'options'],
    ranks: 2,
    passes: true,
  },
  find(run) {
    const of = judged(run);
    if (typeof of !== 'object') return of;
    return of.batch < SMALL * of.critical ? findingOf(run, of) : undefined;
  },
};
