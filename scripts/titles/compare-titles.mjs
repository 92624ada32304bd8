/**
 * The number of files in which each title is, by title, sorted. A file that is in two projects counts
 * once.
 *
 * @param {readonly {title: string, file: string}[]} tests
 * @returns {Record<string, number>}
 */
export function countTitles(tests) {
  const files = new Map();
  for (const { title, file } of tests) files.set(title, (files.get(title) ?? new Set()).add(file));
  const counts = [...files].map(([title, of]) => [title, of.size]);
  return Object.fromEntries(counts.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Compares the titles of two checkouts, by {@link countTitles}.
 *
 * @param {Record<string, {by?: string, reason?: string}>} replaced What has become of titles that are
 * missing.
 * @returns {{missing: string[], new: string[], replaced: string[], wrong: string[]}} missing: titles that
 * are in fewer files, and not in `replaced`. new: those that are in more. wrong: entries of `replaced`
 * that name neither a reason nor a title of `now`, or whose title is not missing.
 */
export function compareTitles(before, now, replaced) {
  const countIn = (counts, title) => counts[title] ?? 0;
  const fewer = (a, b) => Object.keys(a).filter((title) => countIn(b, title) < a[title]);
  const gone = new Set(fewer(before, now));
  const isWrong = ([title, { by, reason }]) =>
    !gone.has(title) || (by === undefined ? !reason : countIn(now, by) === 0);
  return {
    missing: [...gone].filter((title) => !(title in replaced)),
    new: fewer(now, before),
    replaced: [...gone].filter((title) => title in replaced),
    wrong: Object.entries(replaced)
      .filter(isWrong)
      .map(([title]) => title),
  };
}
