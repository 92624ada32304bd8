import type { SampleRow } from '../format.js';
import type { Run } from './run.js';
import { divide, median, sum } from './statistics.js';

type Counter = Exclude<keyof SampleRow, 'time' | 'rssBytes'>;

/** How much a counter of a rank's process grew in each millisecond of the steps. NaN: not known. */
export function rateOf(run: Run, index: number, counter: Counter): number {
  const samples = run.samples(index);
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last === first) return NaN;
  return (last[counter] - first[counter]) / (last.time - first.time);
}

/** The processors that programs outside of the job kept busy, of the host of a rank. */
export function foreignProcessors(run: Run, index: number): number {
  const { host } = factsOf(run, index) ?? {};
  const together = run.numbers.flatMap((_, i) => (factsOf(run, i)?.host === host ? [i] : []));
  return rateOf(run, index, 'hostBusyMs') - sum(together.map((i) => rateOf(run, i, 'cpuMs')));
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
