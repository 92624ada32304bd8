import type { Detector } from '../finding.js';
import { changeOf, optionOf, sharingRanks } from '../options.js';
import { gainOf, less, type Edit } from '../replay.js';
import type { RankStep, Run } from '../run.js';
import { MOST_QUEUE, mostQueued, ranksOnHost } from '../samples.js';
import { severityOf, severityOfRatio } from '../severity.js';
import { distanceOf, divide, lowTenth, max, median, sum } from '../statistics.js';

/** The shares of JavaScript between kernels that stay in a compiled step. */
const KEPT = { low: 0.5, mid: 0.25, high: 0.1 };

const NOT_COMPILED = {
  id: 'launch-bound',
  cause: 'Kernels are short, and the JavaScript between them takes most of the step.',
  advice:
    'Compile the step (accelerator.compile), which records it once and replays it without JavaScript; or use larger batches.',
};
const NOT_REPLAYED = {
  id: 'not-replayed',
  cause: 'The step is compiled and was recorded, but it is not replayed: all of its JavaScript runs again.',
  advice:
    'Print `reason` of the compiled step, which says why, and its line: it reads a tensor, or its calls or the kinds of its arguments change. Move that out of the step.',
};

/** The backend whose calls are counted. */
const NATIVE = 'acc';

/** JavaScript between kernels takes longer than compiled steps would need. */
export const launchBound: Detector = {
  id: 'launch-bound',
  needs: { steps: ['replay'], samples: ['runQueueMs'], facts: ['backend'], passes: true },
  find(run) {
    if (run.steps.flat().some(({ row }) => row.replay > 0)) return undefined;
    const counted = run.steps.flat().filter(({ row }) => row.calls > 0);
    if (run.facts!.backend !== NATIVE) return 'the backend counts no calls';
    const others = run.steps.flat().filter(({ row }) => !(row.calls > 0));
    if (counted.length === 0 || others.length === 0)
      return 'no step with counted calls: they are the 16th, 32nd, 64th and so on';
    const { ofKernels, betweenMs } = kernelTimes(run, counted, others);
    const share = run.share(betweenMs);
    if (ofKernels >= 0.75 || share < 0.1) return undefined;
    const edit = (kept: number) => less((step) => (1 - kept) * betweenMs(step));
    // The first steps of a compiled one are recorded, and later ones are replayed.
    const isCompiled = run.numbers.some((_, i) => run.allRows(i).some(({ recordings }) => recordings > 0));
    return {
      severity: severityOf(share, 0.5),
      share,
      evidence: [
        {
          quantity: 'kernels, of passes and optimizer',
          value: 100 * ofKernels,
          unit: '%',
          limit: 75,
        },
        { quantity: 'native calls', value: median(counted.map(({ row }) => row.calls)), unit: 'a step' },
      ],
      ranks: run.numbers,
      since: null,
      ...(isCompiled ? NOT_REPLAYED : NOT_COMPILED),
      change: null,
      gain: gainOf(run, { low: edit(KEPT.low), mid: edit(KEPT.mid), high: edit(KEPT.high) }),
    };
  },
};

/** The share of kernels in passes and optimizer, and the time of a step between them. */
function kernelTimes(run: Run, counted: readonly RankStep[], others: readonly RankStep[]) {
  // Collections are often those of objects that passes make, and their time is that of gc.
  const gcMs = max(run.steps.map((steps) => sum(steps.map(({ row }) => row.gc || 0)) / steps.length));
  const ownMs = ({ computeMs }: RankStep) => Math.max(0, computeMs - gcMs);
  // A pause between two kernels looks like JavaScript. The fastest steps have few, and their time is the limit.
  const isPaused = mostQueued(run) > MOST_QUEUE;
  const usual = (isPaused ? lowTenth : median)(others.map(ownMs));
  // Counting takes time of its own, so the share in these steps is a lower limit.
  const least = median(counted.map(({ row, computeMs }) => row.kernels / computeMs));
  const ofKernels = Math.max(least, median(counted.map(({ row }) => row.kernels)) / usual);
  // Steps may differ in their work, and the kernels of a step are known in few of them.
  const betweenMs = (step: RankStep) =>
    Math.max(0, 1 - ofKernels) * Math.min(ownMs(step), isPaused ? usual : Infinity);
  return { ofKernels, betweenMs };
}

/** Activations are computed twice although there is room for them. */
export const recomputeNeedless: Detector = {
  id: 'recompute-needless',
  needs: { steps: ['forward'], facts: ['options', 'memoryBytes'], passes: true },
  find(run) {
    const every = Number(optionOf(run, 'checkpointEvery') ?? 0);
    if (every === 0) return undefined;
    const peaks = run.steps.flat().flatMap(({ row }) => (row.peakBytes > 0 ? [row.peakBytes] : []));
    if (peaks.length === 0) return 'no step with a known peak of memory';
    // All activations are at most those of a section in each of the others, and it keeps `every` of them.
    const most = max(run.numbers.map((_, i) => ranksOnHost(run, i).length));
    const without = max(peaks) * (every + 1) * most;
    const { memoryBytes } = run.facts!;
    const share = run.share(({ row }) => row.forward);
    if (without > 0.6 * memoryBytes || share < 0.03) return undefined;
    return {
      id: 'recompute-needless',
      severity: 'warning',
      share,
      evidence: [
        {
          quantity: 'memory without recomputation, at most',
          value: (100 * without) / memoryBytes,
          unit: '% of the memory',
          limit: 60,
        },
        { quantity: 'a forward pass', value: 100 * share, unit: '% of the time', limit: 3 },
      ],
      cause: 'Backward passes compute activations again, although all of them would fit into memory.',
      ranks: run.numbers,
      since: null,
      advice: 'Leave out checkpointEvery.',
      change: changeOf(run, 'checkpointEvery', null),
      gain: gainOf(run, { mid: less(({ row }) => row.forward), low: less(({ row }) => row.forward / 2) }),
    };
  },
};

/** Products of fewer rows take as long as products of so many: the time to read the weights. */
const RIDGE_ROWS = 16;
const LARGER = 4;

/** A batch is so small that the cost of a step, and not that of its samples, takes the time. */
export const smallProducts: Detector = {
  id: 'small-products',
  needs: { steps: ['optimizer', 'samples', 'replay'], facts: ['ranks', 'options'], passes: true },
  find(run) {
    const micro = Number(optionOf(run, 'gradientAccumulationSteps') ?? 1);
    const ofRank = (of: (step: RankStep) => number) =>
      (median(run.steps.flat().map(of)) * sharingRanks(run)) / run.facts!.ranks / micro;
    const rows = ofRank(({ row }) => row.samples);
    // A product has a row for each token of a sample, if their number is known.
    const tokens = ofRank(({ row }) => row.tokens);
    const share = run.share(({ row }) => row.optimizer);
    if (!(rows < RIDGE_ROWS) || tokens >= RIDGE_ROWS || share < 0.2) return undefined;
    const products = Math.max(LARGER * rows, RIDGE_ROWS) / RIDGE_ROWS / LARGER;
    // Times of a sample in a batch that is larger: the optimizer is called once for all of them.
    const edit =
      (ofPasses: number): Edit =>
      (cost, { computeMs, row }) => ({
        ...cost,
        before: Math.max(0, cost.before - (1 - ofPasses) * Math.max(0, computeMs - row.optimizer)),
        after: cost.after / LARGER,
      });
    return {
      id: 'small-products',
      severity: severityOf(share, 0.4),
      share,
      evidence: [
        { quantity: 'rows of a batch on a rank', value: rows, unit: '', limit: RIDGE_ROWS },
        { quantity: 'optimizer', value: 100 * share, unit: '% of the time', limit: 20 },
      ],
      cause: `The optimizer is called for ${counted(rows)} of a rank, and takes much of the time.`,
      ranks: run.numbers,
      since: null,
      advice: `Use larger batches, such as ${counted(LARGER * Math.ceil(rows))}, with a learning rate for them${micro > 1 ? ', and accumulate less' : ''}. The gain is that of a sample.`,
      change: null,
      gain: gainOf(run, { low: edit(1), mid: edit(products) }),
    };
  },
};

const counted = (rows: number) => `${Number(rows.toFixed(1))} ${rows === 1 ? 'row' : 'rows'}`;

/** From some step on, steps take longer. */
export const slowdownSince: Detector = {
  id: 'slowdown-since',
  needs: { minSteps: 60 },
  find(run) {
    const times = run.steps[0]!.map((_, step) => max(run.steps.map((steps) => steps[step]!.ms)));
    const at = changePoint(times);
    if (at === undefined) return undefined;
    const [before, after] = [times.slice(0, at), times.slice(at)].map(median) as [number, number];
    const ratio = after / before;
    const share = ((times.length - at) * (after - before)) / sum(times);
    const first = run.steps[0]![at]!.row;
    return {
      id: 'slowdown-since',
      severity: severityOfRatio(ratio),
      share,
      evidence: [
        { quantity: 'a step after, of one before', value: ratio, unit: 'times', limit: 1.1 },
        { quantity: 'a step before', value: before, unit: 'ms' },
        { quantity: 'a step after', value: after, unit: 'ms' },
      ],
      cause: `Steps are slower from step ${first.step} on.${grownPart(run, at)}`,
      ranks: run.numbers,
      since: run.since(first),
      advice:
        'Look for what began at that time: another program, a larger batch, a disk that is full, a hot processor.',
      change: null,
      gain: gainOf(run, {
        mid: (cost, { row }) => {
          const scale = row.start >= first.start ? 1 / ratio : 1;
          return { before: cost.before * scale, shared: cost.shared * scale, after: cost.after * scale };
        },
      }),
    };
  },
};

const SIDE = 20;

/** The step that divides faster from slower ones, if the difference is large against their spread. */
function changePoint(times: readonly number[]): number | undefined {
  const best = divide(times, SIDE);
  if (!best || best.distance > 0.5 * distanceOf(times)) return undefined;
  const [before, after] = [times.slice(0, best.at), times.slice(best.at)];
  const isLasting = after.filter((ms) => ms > 1.1 * median(before)).length >= 0.9 * after.length;
  return median(after) >= 1.1 * median(before) && isLasting ? best.at : undefined;
}

const GROWN: readonly (readonly [string, (step: RankStep) => number])[] = [
  ['the wait for batches', ({ row }) => row.loader || 0],
  ['the wait for other ranks', ({ waitedMs }) => waitedMs],
  ['passes and optimizer', ({ computeMs }) => computeMs],
  ['the code of the loop', ({ loopMs, row }) => loopMs - (row.loader || 0)],
];

/** A sentence about the part of the step that grew most, on the rank that is the slowest then. */
function grownPart(run: Run, at: number): string {
  // Elsewhere, a pass returns before it is computed.
  if (run.facts?.device !== 'cpu') return '';
  const busy = run.steps.map((steps) => median(steps.slice(at).map(({ ms, waitedMs }) => ms - waitedMs)));
  const slowest = run.steps[busy.indexOf(max(busy))];
  if (!slowest) return '';
  const grown = GROWN.map(([name, of]) => {
    const times = slowest.map(of);
    return [name, median(times.slice(at)) - median(times.slice(0, at))] as const;
  });
  return ` What grew most: ${grown.reduce((most, each) => (each[1] > most[1] ? each : most))[0]}.`;
}
