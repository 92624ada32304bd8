// Lowers the limits of tests/architecture/rules/test-budget.ts to what a counted run has found.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';

const RULES = join(root, 'tests', 'architecture', 'rules', 'test-budget.ts');
/** Counts differ a little from run to run, and a new test joins an old file. */
const SLACK = 1.05;

/**
 * @param {Record<string, Record<string, number>>} counts Of each test file.
 * @returns {string[]} What is above its limit. Only a person raises one.
 */
export function lowerBudget(counts) {
  const rows = Object.values(counts);
  const total = (key) => rows.reduce((sum, row) => sum + (row[key] ?? 0), 0);
  const largest = (key) => Math.max(...rows.map((row) => row[key] ?? 0));
  const { text, exceeded } = lowered(readFileSync(RULES, 'utf8'), { BUDGET: total, FILE_BUDGET: largest });
  writeFileSync(RULES, text);
  return exceeded;
}

/**
 * The text of the rules with lower limits.
 *
 * @param {string} text
 * @param {Record<string, (key: string) => number>} found By the name of a constant: what was found for each
 * of its keys.
 * @returns {{text: string, exceeded: string[]}}
 */
export function lowered(text, found) {
  const exceeded = [];
  const rules = Object.entries(found).reduce((rest, [name, of]) => {
    const constant = new RegExp(`(export const ${name} = \\{\\n)([^}]*)`);
    return rest.replace(
      constant,
      (_, head, body) => head + body.replace(/(\w+): ([\d_]+)/g, limitOf(name, of)),
    );
  }, text);
  return { text: rules, exceeded };

  function limitOf(name, of) {
    return (_, key, written) => {
      const limit = Number(written.replaceAll('_', ''));
      if (of(key) > limit) exceeded.push(`${name}.${key}: ${of(key)} of ${limit}`);
      const wanted = rounded(SLACK * of(key));
      return `${key}: ${grouped(Math.min(limit, wanted))}`;
    };
  }
}

/** Up, to two digits. */
function rounded(count) {
  const unit = 10 ** Math.max(0, Math.ceil(Math.log10(count + 1)) - 2);
  return Math.ceil(count / unit) * unit;
}

const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, '_');
