import type { Detector, Finding } from '../finding.js';
import { changeOf, loaderChange, optionOf } from '../options.js';
import { gainOf, less } from '../replay.js';
import { isPipeline, type RankStep, type Run } from '../run.js';
import { factsOf, MOST_QUEUE, mostQueued, queuedRanks, ranksOnHost, rateOf } from '../samples.js';
import { severityOf } from '../severity.js';
import { max, median, sum } from '../statistics.js';

const percent = (share: number) => 100 * share;
/** Workers read ahead by so much more than is needed on average. */
const SPARE = 1.25;
const MOST_WORKERS = 8;

/** The loop waits for batches. */
export const dataBound: Detector = {
  id: 'data-bound',
  needs: { steps: ['loader'], samples: ['cpuMs'], facts: ['processors'] },
  find(run) {
    const share = run.share(({ row }) => row.loader);
    if (share < 0.1) return undefined;
    const { loaderMs, restMs, cpuMs, perProcessor, isIdle } = loaderTimes(run);
    const { processors } = run.facts!;
    const workers = Math.min(
      ...[MOST_WORKERS, processors],
      Math.max(1, Math.ceil((SPARE * loaderMs) / restMs)),
    );
    const needsWorkers = isIdle === false || loaderMs > restMs;
    const batchMs = Math.max(needsWorkers ? loaderMs / workers : loaderMs, isIdle ? 0 : perProcessor);
    const left = (ms: number) => Math.max(0, ms - restMs) / loaderMs;
    const edit = (rest: number) => less(({ row }) => row.loader * (1 - Math.min(1, rest)));
    return {
      id: 'data-bound',
      severity: severityOf(share),
      share,
      evidence: [
        { quantity: 'waiting for batches', value: percent(share), unit: '% of the time', limit: 10 },
        { quantity: 'waiting for a batch', value: loaderMs, unit: 'ms a step' },
        { quantity: 'processor time', value: cpuMs, unit: 'ms a step' },
      ],
      ranks: run.numbers,
      since: null,
      ...remedyOf(run, isIdle, needsWorkers ? workers : undefined),
      gain: gainOf(run, {
        mid: edit(left(batchMs)),
        low: edit(isIdle === undefined ? 1 : left(Math.max(batchMs, perProcessor))),
      }),
    };
  },
};

/** `isIdle`: whether the processors are idle while the loop waits. Undefined: it cannot be told. */
function loaderTimes(run: Run) {
  const steps = run.steps.flat();
  const loaderMs = median(steps.map(({ row }) => row.loader));
  const restMs = median(steps.map(({ ms, row }) => ms - row.loader));
  const ofRanks = run.steps.map((_, i) => run.stepMs * rateOf(run, i, 'cpuMs'));
  const cpuMs = max(ofRanks);
  const perProcessor = max(
    ofRanks.map((ms, i) => (ms * ranksOnHost(run, i).length) / factsOf(run, i)!.processors),
  );
  // The time of all threads, of which those that compute take this much at most.
  const { threads, processors } = run.facts!;
  const others = ((threads ?? processors) - 1) * median(steps.map(({ computeMs }) => computeMs));
  // A loader that waits for disks or a network leaves the processors idle.
  const limit = restMs + loaderMs / 2;
  const isKnown = mostQueued(run) <= MOST_QUEUE && cpuMs - others > limit === cpuMs > limit;
  return { loaderMs, restMs, cpuMs, perProcessor, isIdle: isKnown ? cpuMs <= limit : undefined };
}

const TO_WORKERS =
  'Read samples in worker threads (numWorkers of the DataLoader, with a moduleDataset), or decode them once and store the result.';
const READ_AHEAD = 2;

/** @param workers Undefined: they are not needed. */
function remedyOf(
  run: Run,
  isIdle: boolean | undefined,
  workers: number | undefined,
): Pick<Finding, 'cause' | 'advice' | 'change'> {
  if (isIdle === undefined)
    return {
      cause: 'The loop waits for batches. Other work on the processors hides why.',
      advice:
        'Read batches ahead (dataLoader.prefetch). If the main thread makes them, let worker threads do that (numWorkers).',
      change: null,
    };
  const cause = isIdle
    ? 'The loop waits for batches while the processors are idle: samples come from a disk or a network.'
    : 'The loop waits for batches that the main thread makes: reading and decoding take its time.';
  if (workers !== undefined)
    return { cause, advice: TO_WORKERS, change: loaderChange('numWorkers', workers) };
  const reads = Number(optionOf(run, 'dataLoader.prefetch') ?? 0);
  return reads >= READ_AHEAD
    ? { cause, advice: 'Store the samples nearer, or in larger files.', change: null }
    : {
        cause,
        advice: 'Read batches ahead, while the step computes.',
        change: changeOf(run, 'dataLoader.prefetch', READ_AHEAD),
      };
}

/** The time of a step's loop that no other finding explains. */
function ownCodeMs({ loopMs, row }: RankStep): number {
  const { loader, saves, gc, evaluation, reads, logging } = row;
  const explained = [loader, saves, gc, evaluation, reads, logging].map((ms) => ms || 0);
  return Math.max(0, loopMs - sum(explained));
}

/** The code of the loop itself takes long. */
export const loopCode: Detector = {
  id: 'loop-code',
  needs: {
    steps: ['forward', 'backward', 'optimizer', 'exposed', 'replay', 'loader', 'saves'],
    passes: true,
  },
  find(run) {
    const share = run.share(ownCodeMs);
    if (share < 0.1) return undefined;
    const reason = isPipeline(run.facts) ? unknownLoop(run) : undefined;
    if (reason) return reason;
    const period = periodOf(run.steps[0]!);
    // Pauses for other work on the processors look like code of the loop, but have no period.
    const queue = mostQueued(run);
    const isHidden = queue > MOST_QUEUE && period === undefined;
    const least = isHidden ? share * (1 - queue) : share;
    const [doubt, waits] = isHidden ? [HIDDEN, [queuedFor(queue)]] : ['', []];
    return {
      id: 'loop-code',
      severity: severityOf(least),
      share: least,
      evidence: [
        { quantity: 'code of the loop', value: percent(share), unit: '% of the time', limit: 10 },
        { quantity: 'code of the loop', value: share * run.stepMs, unit: 'ms a step' },
        ...(period === undefined ? waits : [{ quantity: 'period', value: period, unit: 'steps' }]),
      ],
      cause: causeOf(period) + doubt,
      ranks: run.numbers,
      since: null,
      advice:
        period === undefined
          ? 'Move work out of the loop, or do it every N steps. autoLog reads the loss without waiting in each step.'
          : 'Do it more rarely, or on fewer rows.',
      change: null,
      gain: gainOf(run, {
        mid: less(ownCodeMs),
        low: less((step) => (least / share) * ownCodeMs(step)),
      }),
    };
  },
};

/** Why the time of the loop cannot be told from that of a pipeline, whose stages wait between their passes. */
function unknownLoop(run: Run): string | undefined {
  if (!run.steps.flat().every(({ row }) => row.communicating >= 0)) return 'no column communicating';
  return queuedRanks(run);
}

const HIDDEN = ' The main thread also waited for a processor, which hides how much of this is code.';

const queuedFor = (queue: number) => ({
  ...{ quantity: 'waiting for a processor', value: percent(queue), unit: '% of the time' },
});

const causeOf = (period: number | undefined): string =>
  period === undefined
    ? 'The code of the loop beside passes, optimizer and loader takes this time in each step: logs, reads of tensors, transformations of batches.'
    : `The code of the loop takes this time in every ${ordinal(period)} step: an evaluation, logs or files.`;

/** The distance of the steps that have most of the loop's time. Undefined: all steps have it. */
function periodOf(steps: readonly RankStep[]): number | undefined {
  const times = steps.map(ownCodeMs);
  const limit = 3 * median(times) + 1;
  const heavy = times.flatMap((ms, i) => (ms > limit ? [i] : []));
  if (heavy.length < 3 || sum(heavy.map((i) => times[i]!)) < 0.6 * sum(times)) return undefined;
  const distances = heavy.slice(1).map((at, i) => steps[at]!.row.step - steps[heavy[i]!]!.row.step);
  const period = median(distances);
  const regular = distances.filter((distance) => distance === period).length;
  return period > 1 && regular >= 0.6 * distances.length ? period : undefined;
}

function ordinal(n: number): string {
  const ends: Record<number, string> = { 1: 'st', 2: 'nd', 3: 'rd' };
  const isTeen = n % 100 > 10 && n % 100 < 14;
  return `${n}${(isTeen ? undefined : ends[n % 10]) ?? 'th'}`;
}

/** The part of an asynchronous save that still holds the loop up: it copies what changes. */
const COPIED = { low: 0.5, mid: 0.2, high: 0 };

/** Saves of checkpoints hold the loop up. */
export const checkpointStall: Detector = {
  id: 'checkpoint-stall',
  needs: { steps: ['saves'], facts: ['options'] },
  find(run): Finding | undefined {
    const share = run.share(({ row }) => row.saves);
    const saves = run.steps[0]!.filter(({ row }) => row.saves > 0);
    const stepMs = median(run.steps[0]!.map(({ ms, row }) => ms - row.saves));
    const saveMs = median(saves.map(({ row }) => row.saves));
    if (share < 0.03 || saveMs < 5 * stepMs) return undefined;
    const isAsync = optionOf(run, 'checkpoint.async') === true;
    const edit = (copied: number) => less(({ row }) => row.saves * (1 - copied));
    const all = less(({ row }) => row.saves);
    return {
      id: 'checkpoint-stall',
      severity: severityOf(share),
      share,
      evidence: [
        { quantity: 'waiting for saves', value: percent(share), unit: '% of the time', limit: 3 },
        { quantity: 'a save', value: saveMs / stepMs, unit: 'steps', limit: 5 },
        { quantity: 'saves', value: saves.length, unit: `in ${run.length} steps` },
      ],
      cause: `The loop waits ${saveMs.toFixed(0)} ms for each checkpoint.`,
      ranks: run.numbers,
      since: null,
      advice: isAsync ? 'Save more rarely.' : 'Let training go on while a save writes, or save more rarely.',
      change: isAsync ? null : changeOf(run, 'checkpoint.async', true),
      gain: isAsync
        ? gainOf(run, { mid: all })
        : gainOf(run, { low: edit(COPIED.low), mid: edit(COPIED.mid), high: edit(COPIED.high) }),
    };
  },
};

/** V8 collects garbage. Objects of the loop take about as long to make as to collect. */
export const garbage: Detector = {
  id: 'gc',
  needs: {},
  find(run) {
    const perStep = run.steps.map((steps) => sum(steps.map(({ row }) => row.gc || 0)) / steps.length);
    if (!run.steps.flat().some(({ row }) => row.gc >= 0))
      return 'Node.js has reported no collection: the event loop did not run';
    const shares = run.steps.map((steps, i) => (perStep[i]! * steps.length) / sum(steps.map(({ ms }) => ms)));
    const whole = max(shares);
    // Pauses of the processor lengthen collections, too.
    const queue = mostQueued(run);
    const share = queue > MOST_QUEUE ? whole * (1 - queue) : whole;
    if (share < 0.03) return undefined;
    return {
      id: 'gc',
      severity: severityOf(share, 0.1),
      share,
      evidence: [
        { quantity: 'garbage collection', value: percent(share), unit: '% of the time', limit: 3 },
        { quantity: 'garbage collection', value: max(perStep), unit: 'ms a step' },
      ],
      cause: 'V8 collects garbage of the program, and the main thread waits for it.',
      ranks: run.numbers.filter((_, i) => shares[i]! >= 0.03),
      since: null,
      advice:
        'Make fewer objects in the loop: reuse typed arrays, and create tensors from them rather than from nested arrays.',
      change: null,
      gain: gainOf(run, {
        low: less((_, i) => perStep[i]! / 2),
        mid: less((step, i) => perStep[i]! + Math.min(perStep[i]!, ownCodeMs(step))),
        high: less((step, i) => perStep[i]! + ownCodeMs(step)),
      }),
    };
  },
};
