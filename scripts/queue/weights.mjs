/**
 * The record with the counts of a run.
 *
 * @param {Record<string, {processorSeconds: number, seconds: number}>} record
 * @param {Iterable<[string, {processorSeconds: number, seconds: number}]>} counts By test file.
 * @param {{isLoaded: boolean, isThere: (file: string) => boolean}} options isLoaded: the seconds of
 * the counts are not used.
 */
export function refreshed(record, counts, { isLoaded, isThere }) {
  const rows = { ...record };
  for (const [test, { processorSeconds, seconds }] of counts) {
    const known = record[test];
    const coresBusy = known ? known.processorSeconds / known.seconds : 1;
    rows[test] = {
      processorSeconds: toTenths(processorSeconds),
      seconds: toTenths(isLoaded ? processorSeconds / coresBusy : seconds),
    };
  }
  return Object.fromEntries(
    Object.keys(rows)
      .filter(isThere)
      .sort()
      .map((file) => [file, rows[file]]),
  );
}

/** At least a tenth, so that quotients exist. */
const toTenths = (seconds) => Math.max(0.1, Math.round(10 * seconds) / 10);
