import type { SampleRow } from '../format.js';
import type { Run } from './run.js';
import { divide, max, median, sum } from './statistics.js';

type Counter = Exclude<keyof SampleRow, 'time' | 'rssBytes' | 'isInCollective'>;

/** How much a counter of a rank's process grew in each millisecond of the steps. NaN: not known. */
export function rateOf(run: Run, index: number, counter: Counter): number {
  const samples = run.samples(index);
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last === first) return NaN;
  return (last[counter] - first[counter]) / (last.time - first.time);
}

/** The processors that programs outside of the job kept busy, of the host of a rank. */
export function foreignProcessors(run: Run, index: number): number {
  return rateOf(run, index, 'hostBusyMs') - sum(ranksOnHost(run, index).map((i) => rateOf(run, i, 'cpuMs')));
}

/** The processors of the host of a rank. NaN: not known. */
export function hostProcessors(run: Run, index: number): number {
  const { hostProcessors: all, processors = NaN } = factsOf(run, index) ?? {};
  return all ?? processors;
}

/** The processors that ranks of a host may use together. NaN: not known. */
export function processorsOf(run: Run, ranks: readonly number[]): number {
  const facts = ranks.map((i) => factsOf(run, i));
  const bound = facts.map((each) => listed(each?.boundTo ?? ''));
  const processors = facts[0]?.processors ?? NaN;
  if (bound.some((list) => list.length === 0)) return processors;
  // A container may have fewer processors than it is bound to.
  const hasQuota = processors < bound[0]!.length;
  const together = new Set(bound.flat()).size;
  return hasQuota ? Math.min(processors, together) : together;
}

/** The numbers in a list of ranges: `0-3,8`. */
function listed(ranges: string): number[] {
  return ranges.split(',').flatMap((range) => {
    const [from, to = from] = range.split('-').map((text) => Number.parseInt(text, 10));
    return Number.isNaN(from!) ? [] : Array.from({ length: to! - from! + 1 }, (_, i) => from! + i);
  });
}

/** The largest known share of the time in which the main thread of a rank waited for a processor. */
export function mostQueued(run: Run): number {
  return max(run.numbers.map((_, i) => rateOf(run, i, 'runQueueMs') || 0));
}

/** The share of the time in a queue for a processor above which other times say little. */
export const MOST_QUEUE = 0.1;

/** Why times of ranks say little about their work. Undefined: they wait little for processors. */
export function queuedRanks(run: Run): string | undefined {
  const queue = mostQueued(run);
  if (queue <= MOST_QUEUE) return undefined;
  return `ranks waited for a processor in ${(100 * queue).toFixed(0)} % of the time, which changes the times of passes`;
}

export function factsOf(run: Run, index: number) {
  return run.recorded.ranks.find(({ rank }) => rank === run.numbers[index])?.facts;
}

/** The numbers of ranks on the host of a rank. */
export function ranksOnHost(run: Run, index: number): number[] {
  const { host } = factsOf(run, index) ?? {};
  return run.numbers.flatMap((_, i) => (factsOf(run, i)?.host === host ? [i] : []));
}

/** Samples on each side of a change, at least. */
const SIDE = 4;

/** The first step from which on a rate of a rank stays above a limit. Undefined: from the first one. */
export function risesAt(run: Run, index: number, counter: Counter, limit: number): number | undefined {
  const samples = run.samples(index);
  const rates = samples.slice(1).map((sample, i) => {
    const before = samples[i]!;
    return (sample[counter] - before[counter]) / (sample.time - before.time);
  });
  const best = divide(rates, SIDE);
  if (!best) return undefined;
  const [before, after] = [rates.slice(0, best.at), rates.slice(best.at)].map(median) as [number, number];
  if (before >= limit || after < 2 * limit) return undefined;
  const at = run.steps[index]!.findIndex(({ row }) => row.end >= samples[best.at]!.time);
  return at > 0 ? at : undefined;
}
