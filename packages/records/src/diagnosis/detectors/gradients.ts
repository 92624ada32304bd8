import type { StepRow } from '../../format.js';
import type { Detector } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import { gainOf, type Edit } from '../replay.js';
import { isPipeline, type Run } from '../run.js';
import { severityOf } from '../severity.js';
import { max, median, min, sum } from '../statistics.js';

/** Figures on both sides that a norm is compared with. */
const AROUND = 5;
const TIMES = 10;
const LEAST = 3;
/** Of all norms. In a long run, a few are large by chance. */
const LEAST_SHARE = 0.01;

/** Gradients of some steps are many times as large as those around them. */
export const exploding: Detector = {
  id: 'exploding',
  needs: { steps: ['gradNorm'], facts: ['options'] },
  find(run) {
    // The norms are those before clipping, which cuts them.
    if (optionOf(run, 'gradientClipping.norm') !== undefined) return undefined;
    const rows = run.allRows(0).filter(({ gradNorm }) => Number.isFinite(gradNorm));
    if (rows.length <= 2 * AROUND)
      return `only ${rows.length} norms of the gradients, of ${2 * AROUND + 1} that are needed`;
    const norms = rows.map(({ gradNorm }) => gradNorm);
    const usual = norms.map((_, i) => median(norms.slice(Math.max(0, i - AROUND), i + AROUND + 1)));
    const large = rows.filter(({ gradNorm }, i) => usual[i]! > 0 && gradNorm > TIMES * usual[i]!);
    if (large.length < Math.max(LEAST, LEAST_SHARE * rows.length)) return undefined;
    const typical = median(norms);
    return {
      id: 'exploding',
      severity: 'warning',
      share: large.length / rows.length,
      evidence: [
        {
          quantity: 'largest norm, of the usual one',
          value: max(norms) / typical,
          unit: 'times',
          limit: TIMES,
        },
        { quantity: 'usual norm of the gradients', value: typical, unit: '' },
        { quantity: 'norms that are so large', value: large.length, unit: `of ${rows.length}`, limit: LEAST },
      ],
      cause:
        'In some steps the gradients are many times as large as in the others, and undo what was learned.',
      ranks: run.numbers,
      since: run.since(large[0]!),
      advice:
        'Clip gradients near their usual norm, unless the program calls clipGradNorm. Look at the batches of these steps.',
      change: changeOf(run, 'gradientClipping.norm', Number((2 * typical).toPrecision(1))),
      gain: null,
    };
  },
};

/** Steps in fp16 are skipped, because gradients overflow. */
export const fp16Scale: Detector = {
  id: 'fp16-scale',
  needs: { steps: ['passes'], facts: ['strategy', 'options'] },
  find(run) {
    if (optionOf(run, 'mixedPrecision') !== 'fp16') return undefined;
    if (isPipeline(run.facts)) return 'a pipelined step has a number of passes that depends on its schedule';
    const micro = Number(optionOf(run, 'gradientAccumulationSteps') ?? 1);
    const known = run.steps.map((steps) => steps.filter(({ row }) => row.passes >= micro));
    if (min(known.map(({ length }) => length)) < 0.5 * run.length)
      return 'most steps are replayed, and their passes are not counted';
    // A program may have several passes in each step, such as those of two networks.
    const window = median(known.map((steps) => min(steps.map(({ row }) => row.passes))));
    const shares = known.map(
      (steps) => 1 - (window * steps.length) / sum(steps.map(({ row }) => row.passes)),
    );
    const share = min(shares);
    if (share < 0.05) return undefined;
    const skipped: Edit = (cost, { row }) => ({
      ...cost,
      before: row.passes > window ? cost.before * (window / row.passes) : cost.before,
    });
    return {
      id: 'fp16-scale',
      severity: severityOf(share),
      share,
      evidence: [{ quantity: 'skipped steps', value: 100 * share, unit: '% of all steps', limit: 5 }],
      cause: 'Gradients overflow in fp16, and their steps are skipped.',
      ranks: run.numbers,
      since: null,
      advice:
        'Use bf16, whose range is that of float32. Or let the loss scale grow more rarely (amp.lossScale.growthInterval).',
      change: changeOf(run, 'mixedPrecision', 'bf16'),
      gain: gainOf(run, { mid: skipped, low: (cost) => cost }),
    };
  },
};

/** Losses of two ranks on different samples differ by more. */
const SAME = 1e-6;
const LEAST_LOSSES = 5;
const REPLICATED = ['ddp', 'fsdp'];

/** Ranks that should have samples of their own train on the same ones. */
export const sameBatches: Detector = {
  id: 'same-batches',
  needs: { steps: ['ownLoss'], facts: ['strategy', 'options'], ranks: 2 },
  find(run) {
    if (!REPLICATED.includes(run.facts!.strategy) || sharesBatches(run)) return undefined;
    const losses = lossesOf(run);
    const count = losses[0]!.length;
    if (count < LEAST_LOSSES) return `only ${count} losses of each rank, of ${LEAST_LOSSES} that are needed`;
    // A loss that does not change says nothing about its samples.
    const changes = losses.map((own) => max(own) - min(own) > SAME * Math.abs(max(own)));
    const isSame = (a: number, b: number) =>
      a === b ||
      (changes[a]! &&
        losses[a]!.every((loss, i) => Math.abs(loss - losses[b]![i]!) <= SAME * Math.abs(loss)));
    const groups = run.numbers.map((_, i) => run.numbers.filter((__, j) => isSame(i, j)));
    const largest = groups.reduce((most, group) => (group.length > most.length ? group : most));
    if (largest.length < 2) return undefined;
    const different = new Set(groups.map(([first]) => first)).size;
    const share = 1 - different / run.numbers.length;
    return {
      id: 'same-batches',
      severity: 'critical',
      share,
      evidence: [
        { quantity: 'equal losses of these ranks', value: count, unit: `of ${count}`, limit: LEAST_LOSSES },
        { quantity: 'work that another rank does, too', value: 100 * share, unit: '%' },
      ],
      cause: `Ranks ${largest.join(', ')} have the same loss in each step: they train on the same batches.`,
      ranks: largest,
      since: null,
      advice:
        'Give the DataLoader or the dataset to accelerator.prepare, which gives each rank samples of its own. Or divide the samples by accelerator.processIndex.',
      change: null,
      gain: null,
    };
  },
};

/** On these axes, ranks work on the same samples. */
function sharesBatches(run: Run): boolean {
  return ['tensor', 'pipeline', 'context', 'expert'].some((axis) => {
    const size = optionOf(run, `mesh.${axis}`);
    return size !== undefined && size !== null && size !== 1;
  });
}

/** The losses of the steps in which they are known on all ranks. */
function lossesOf(run: Run): number[][] {
  const isKnown = (row: StepRow) => Number.isFinite(row.ownLoss);
  const steps = run.steps[0]!.flatMap((_, i) =>
    run.steps.every((rows) => isKnown(rows[i]!.row)) ? [i] : [],
  );
  return run.steps.map((rows) => steps.map((i) => rows[i]!.row.ownLoss));
}
