import type { StepRow } from '../../format.js';
import type { Detector, Finding } from '../finding.js';
import type { Run } from '../run.js';
import { severityOf } from '../severity.js';
import { max, median, min } from '../statistics.js';

/** Figures in a row that show a cause. */
const LOOKS = 3;
const FEW = `fewer than ${LOOKS} figures of single gradients: they are those of the steps 1, 2, 4, 8 times autoLog.every`;

/** The last rows of the first rank with figures of single gradients. */
function lastLooks(run: Run, is: (row: StepRow) => boolean): readonly StepRow[] | undefined {
  const rows = run.allRows(0).filter(({ gradRatio }) => gradRatio >= 0);
  return rows.length < LOOKS ? undefined : firstOfTail(rows, is);
}

/** The rows at the end for which `is` holds, without interruption. */
function firstOfTail(rows: readonly StepRow[], is: (row: StepRow) => boolean): readonly StepRow[] {
  return rows.slice(rows.findLastIndex((row) => !is(row)) + 1);
}

const DEAD = 0.3;
const ALL_DEAD = 0.9;
/** Of fewer samples, many units are 0 for all by chance. */
const LEAST_SAMPLES = 32;

/** Units that are 0 for all samples of a batch have no gradient, and learn nothing any more. */
export const deadUnits: Detector = {
  id: 'dead-units',
  needs: { steps: ['zeroUnits', 'gradRatio', 'samples'], facts: ['strategy'] },
  find(run) {
    if (run.facts!.strategy.includes('fsdp'))
      return 'ranks have shards of gradients, which are not those of whole biases';
    if (!(median(run.steps[0]!.map(({ row }) => row.samples)) >= LEAST_SAMPLES))
      return `batches of fewer than ${LEAST_SAMPLES} samples, or of a number that is not known`;
    const looks = lastLooks(run, (row) => row.zeroUnits >= DEAD);
    if (!looks) return FEW;
    if (looks.length < LOOKS) return undefined;
    const share = looks.at(-1)!.zeroUnits;
    return {
      id: 'dead-units',
      severity: severityOf(share, 0.6),
      // A layer without a unit that learns is all that the training has.
      share: share >= ALL_DEAD ? 1 : share,
      evidence: [
        { quantity: 'biases without a gradient', value: 100 * share, unit: '%', limit: 100 * DEAD },
        { quantity: 'figures in a row', value: looks.length, unit: '', limit: LOOKS },
      ],
      cause: `${(100 * share).toFixed(0)} % of the units are 0 for all samples: their gradients are exactly 0, so they stay so.${tooLarge(run)}`,
      ranks: run.numbers,
      since: run.since(looks[0]!),
      advice:
        'Start with biases of 0, lower the learning rate, or use an activation with a slope below 0: leakyReLU, elu, gelu.',
      change: null,
      gain: null,
    };
  },
};

const JUMPED = 10;

/** A sentence about updates at the start that were so large that the loss was far above that of later steps. */
function tooLarge(run: Run): string {
  const losses = run.allRows(0).flatMap(({ loss }) => (Number.isFinite(loss) ? [loss] : []));
  const [first, last] = [losses[0], losses.at(-1)];
  if (first === undefined || last === undefined || !(last > 0 && first > JUMPED * last)) return '';
  return ` The learning rate is too high: the first updates were so large that the loss was ${first.toPrecision(2)}, and it is ${last.toPrecision(2)} at the end.`;
}

const VANISHED = 1e-4;

/** The gradients of the first layer are tiny beside those of the last one. */
export const vanishing: Detector = {
  id: 'vanishing',
  needs: { steps: ['gradRatio', 'zeroUnits'] },
  find(run) {
    const looks = lastLooks(run, ({ gradRatio }) => gradRatio < VANISHED);
    if (!looks) return FEW;
    // Units that are always 0 let no gradient through: that is another cause.
    if (looks.length < LOOKS || looks.at(-1)!.zeroUnits >= DEAD) return undefined;
    const ratio = median(looks.map(({ gradRatio }) => gradRatio));
    return {
      id: 'vanishing',
      severity: 'warning',
      share: 1,
      evidence: [
        {
          quantity: 'gradient of the first layer, of that of the last one',
          value: ratio,
          unit: '',
          limit: VANISHED,
        },
        { quantity: 'figures in a row', value: looks.length, unit: '', limit: LOOKS },
      ],
      cause: 'Gradients vanish on their way to the first layers, which hardly learn.',
      ranks: run.numbers,
      since: run.since(looks[0]!),
      advice:
        'Add connections that skip layers (add), or normalization between them, or use activations whose slope is about 1 (relu, gelu) with initial weights for them (heNormal).',
      change: null,
      gain: null,
    };
  },
};

/** Variables of the training get no gradient. */
export const unusedWeights: Detector = {
  id: 'unused-weights',
  needs: { steps: ['unusedVariables', 'gradRatio'], ranks: 2 },
  find(run) {
    const looks = lastLooks(run, ({ unusedVariables }) => unusedVariables > 0);
    if (!looks) return FEW;
    if (looks.length < LOOKS) return undefined;
    const count = min(looks.map(({ unusedVariables }) => unusedVariables));
    return {
      id: 'unused-weights',
      severity: 'warning',
      share: 0,
      evidence: [
        { quantity: 'variables without a gradient', value: count, unit: '', limit: 1 },
        { quantity: 'figures in a row', value: looks.length, unit: '', limit: LOOKS },
      ],
      cause: `The loss does not depend on ${count} of the trained variables. They stay as they are, and take memory.`,
      ranks: run.numbers,
      since: null,
      advice:
        'Freeze these layers (trainable: false), or connect them to the loss. ddp: { findUnused: false } names them in an error.',
      change: null,
      gain: null,
    };
  },
};

/** Replicas whose weights are the same have the same norm, but for rounding. */
const DIFFERENT = 1e-5;

/** Ranks that should have the same weights have others. */
export const ranksDiffer: Detector = {
  id: 'ranks-differ',
  needs: { steps: ['weightNorm'], facts: ['strategy'], ranks: 2, minSteps: 1 },
  find(run): Finding | undefined {
    if (run.facts!.strategy !== 'ddp') return undefined;
    const looks = run.allRows(0).flatMap((row) => {
      const norms = run.numbers.map(
        (_, i) => run.allRows(i).find(({ step }) => step === row.step)?.weightNorm,
      );
      const isKnown = (norm: number | undefined) => norm !== undefined && norm >= 0;
      return row.weightNorm >= 0 && norms.every(isKnown) ? [{ row, norms: norms as number[] }] : [];
    });
    const differ = ({ norms }: (typeof looks)[number]) => (max(norms) - min(norms)) / max(norms);
    const first = looks.find((look) => differ(look) > DIFFERENT);
    const last = looks.at(-1);
    if (!first || !last || differ(last) <= DIFFERENT) return undefined;
    const usual = median(first.norms);
    const off = first.norms.map((norm) => Math.abs(norm - usual));
    const others = run.numbers.filter((_, i) => off[i]! > DIFFERENT * usual);
    return {
      id: 'ranks-differ',
      severity: 'critical',
      share: 1,
      evidence: [
        { quantity: 'difference of the norms of weights', value: differ(last), unit: '', limit: DIFFERENT },
      ],
      cause: `The weights of the ranks are not the same, at step ${first.row.step} at the latest.`,
      ranks: others.length < run.numbers.length && others.length > 0 ? others : run.numbers,
      since: run.since(first.row),
      advice:
        'Look for code that changes weights on some of the ranks: assign, loadWeights, setWeights. Load them before prepare, or on all ranks.',
      change: null,
      gain: null,
    };
  },
};
