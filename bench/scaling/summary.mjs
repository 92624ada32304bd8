import { median } from '../harness/statistics.mjs';

/**
 * The figures of one model for `weak` or `strong`.
 *
 * @param runs `{one, rates: {ours: [{weak, strong}, …], theirs: […]}}` for each case of `casesOf`.
 * Rates are samples/s, by repeat.
 * @returns A row for each case: `{ranks, network, ours, theirs, ratio}`. Each side has
 * `samplesPerS`; `efficiency`, the rate divided by ranks times the rate of one rank; and
 * `communication`, the share of a step by which it is longer than without communication. `ratio` is
 * our time divided by theirs, so it is below 1 if we are faster. Each figure is the median over the
 * repeats.
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

/** The rates by repeat. One rank has the same batch in both cases. */
function ratesOf({ rates }, side, kind) {
  return rates[side].map((rate) => rate[kind] ?? rate.weak);
}
