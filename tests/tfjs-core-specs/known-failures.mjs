import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/**
 * `--write-known` writes this if a person has to add the reason. A list that contains it is not
 * finished.
 */
export const NO_REASON = 'TODO';

/** @typedef {{name: string, reason: string}} Known An expected failure; `name` as worker.mjs makes names unique. */
/** @typedef {{name: string, status: 'passed'|'failed'|'pending'|'excluded', messages: string[]}} SpecResult */

/** The list of `backend`. CUDA has its own list, because a list must be exact for its device. */
export function knownPath(backend, device) {
  return join(here, `known-failures.${backend}${['cuda', 'late'].includes(device) ? `-${device}` : ''}.json`);
}

/**
 * @returns {Known[]} Empty where there is no file.
 * @throws When the file is not an array of `{name, reason}` with distinct names.
 */
export function readKnown(path) {
  if (!existsSync(path)) return [];
  const list = JSON.parse(readFileSync(path, 'utf8'));
  if (!Array.isArray(list)) throw new Error(`${path}: expected an array of {name, reason}.`);
  const seen = new Set();
  for (const entry of list) {
    const keys = Object.keys(entry).sort().join();
    if (keys !== 'name,reason' || !isText(entry.name) || !isText(entry.reason)) {
      throw new Error(
        `${path}: expected {name, reason}, both non-empty strings, got ${JSON.stringify(entry)}.`,
      );
    }
    if (seen.has(entry.name)) throw new Error(`${path}: '${entry.name}' is listed twice.`);
    seen.add(entry.name);
  }
  return list;
}

const isText = (value) => typeof value === 'string' && value.trim() !== '';

/** @param {Known[]} known */
export function writeKnown(path, known) {
  writeFileSync(path, `${JSON.stringify(known, null, 2)}\n`);
}

/**
 * Compares the results with the expected failures.
 *
 * @param {Map<string, SpecResult>} results The results of the specs that ran, without excluded
 * ones.
 * @param {readonly string[]} names The names of all specs, in the order of definition.
 * @param {Known[]} known
 * @returns `newFailures` are not listed. `stale` are listed, but pass, are pending or no longer
 * exist.
 */
export function compare(results, names, known) {
  const listed = new Set(known.map(({ name }) => name));
  const exists = new Set(names);
  const failures = [...results.values()].filter(({ status }) => status === 'failed');
  const stale = known.flatMap(({ name }) => {
    const status = results.get(name)?.status;
    if (!exists.has(name))
      return [{ name, messages: ['is listed as a known failure but no spec has this name'] }];
    if (status === undefined || status === 'failed') return [];
    return [{ name, messages: [`is listed as a known failure but is ${status}`] }];
  });
  return {
    passed: [...results.values()].filter(({ name, status }) => status === 'passed' && !listed.has(name))
      .length,
    pending: [...results.values()].filter(({ status }) => status === 'pending').length,
    expectedFailures: failures.filter(({ name }) => listed.has(name)).length,
    newFailures: failures.filter(({ name }) => !listed.has(name)),
    stale,
    withoutReason: known.filter(({ reason }) => reason === NO_REASON).map(({ name }) => name),
  };
}

/**
 * The list that results from this run, in the order of definition. It contains specs that failed,
 * and keeps entries of specs that a filter left out. Reasons are kept.
 *
 * @returns {Known[]}
 */
export function updated(results, names, known) {
  const reasons = new Map(known.map(({ name, reason }) => [name, reason]));
  const isKept = (name) => (results.has(name) ? results.get(name).status === 'failed' : reasons.has(name));
  return names.filter(isKept).map((name) => ({ name, reason: reasons.get(name) ?? NO_REASON }));
}
