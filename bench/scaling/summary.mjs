import { median } from '../harness/statistics.mjs';

/**
 * The figures of one model under one question, `weak` or `strong`.
 *
 * @param runs `{one, rates: {ours: [{weak, strong}, …], theirs: […]}}` by case of `casesOf`; rates are samples/s, by repeat.
 * @returns A row for each case: `{ranks, network, ours, theirs, ratio}`. A side has `samplesPerS`; `efficiency`, the rate
 *   through ranks times one rank's; `communication`, the part of a step by which it is longer than without. `ratio` is our time
 *   through theirs, below 1 where we are faster. Each figure is the median of the repeats' own.
 */
export function summarize(runs, kind) {
  const single = runs.find(({ one }) => one.ranks === 1);
  return runs
    .filter((run) => run === single || kind in run.one.batches)
    .map((run) => {
      const { ranks, network } = run.one;
      const alone = runs.find(({ one }) => one.ranks === ranks && one.network === undefined);
      const [ours, theirs] = ['ours', 'theirs'].map((side) => {
        const [own, ofSingle, ofAlone] = [run, single, alone].map((other) => ratesOf(other, side, kind));
        return {
          samplesPerS: median(own),
          efficiency: median(own.map((rate, i) => rate / (ranks * ofSingle[i]))),
          communication: network && median(own.map((rate, i) => 1 - rate / ofAlone[i])),
        };
      });
      const ofTheirs = ratesOf(run, 'theirs', kind);
      const ratio = median(ratesOf(run, 'ours', kind).map((rate, i) => ofTheirs[i] / rate));
      return { ranks, network, ours, theirs, ratio };
    });
}

/** By repeat. One rank has the same batch under both questions. */
function ratesOf({ rates }, side, kind) {
  return rates[side].map((rate) => rate[kind] ?? rate.weak);
}
