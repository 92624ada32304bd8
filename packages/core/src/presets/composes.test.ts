import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { linesOfTable } from '../testing/lines-of-table.js';
import { FEATURES, INCLUDED, REFUSALS, type Feature } from './composes.js';
import { refusalsOf, requireTogether } from './require-together.js';

const PAGE = new URL('../../../../site/docs/concepts/together.md', import.meta.url);
/** The columns of the table. */
const COLUMNS: readonly Feature[] = [
  ...(['data', 'fsdp', 'tensor', 'context', 'expert', 'pipeline', 'deterministic', 'compile'] as const),
];
/** Strategies that exclude those of the mesh, so they are in the list of reasons only. */
const STRATEGIES: readonly Feature[] = ['single', 'ownStrategy', 'ownSharding', 'sharedRows'];
const ROWS = (Object.keys(FEATURES) as Feature[]).filter((feature) => !STRATEGIES.includes(feature));
const OF_DDP: readonly Feature[] = ['commHook', 'hookState', 'syncAtApply', 'syncEachBatch', 'batchNorm'];
/** Names of options and calls are code, other words are not. */
const codeOf = (feature: Feature) =>
  /^an? | or | other than |^quantized /.test(FEATURES[feature])
    ? FEATURES[feature]
    : `\`${FEATURES[feature]}\``;
const withIncluded = (feature: Feature) => [feature, ...(INCLUDED[feature] ?? [])];

/** Whether a pair works, as a word of the table. */
function cellOf(row: Feature, column: Feature): string {
  const features = new Set([...withIncluded(row), ...withIncluded(column)]);
  // An option of one strategy has no effect on the other.
  if (row === column || (features.has('fsdp') && OF_DDP.some((each) => features.has(each)))) return '–';
  return refusalsOf(features).length > 0 ? 'no' : 'yes';
}

/** The lines of the page: one for each row and each reason. */
function expectedLines(): string[] {
  const rows = ROWS.map((row) => [codeOf(row), ...COLUMNS.map((column) => cellOf(row, column))]);
  const reasons = new Map<string, string[]>();
  for (const { of, code, reason } of REFUSALS) {
    const others = of.length > 2 ? of.slice(1).map(codeOf).join(' × ') : codeOf(of[1]!);
    const key = `${codeOf(of[0]!)} and {}: ${reason} (\`${code}\`)`;
    reasons.set(key, [...(reasons.get(key) ?? []), others]);
  }
  const list = [...reasons].map(([text, others]) => `- ${text.replace('{}', others.join(', '))}`);
  return [['', ...COLUMNS.map(codeOf)], ...rows].map((cells) => cells.join(' | ')).concat(list);
}

it('the page has the table', () => {
  expect(linesOfTable(readFileSync(PAGE, 'utf8'), 'composes')).toEqual(expectedLines());
});

describe('features that do not go together', () => {
  const refusal = (features: Feature[], more?: Feature) => {
    try {
      requireTogether(features, more);
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it('are all named in one error', () => {
    expect(refusal(['deterministic', 'tensor', 'commHook', 'data'])).toMatchObject({
      code: 'ACC_DETERMINISTIC_UNSUPPORTED',
      details: {
        refused: [
          ['deterministic', 'mesh.tensor'],
          ['deterministic', 'ddp.commHook'],
        ],
      },
    });
  });

  it('count for a call only if it is one of them', () => {
    expect(refusal(['deterministic', 'tensor', 'fsdp'], 'checkpoints')).toBeUndefined();
    expect(refusal(['fsdp'], 'compile')).toBeUndefined();
    expect(refusal(['fsdp', 'tensor'], 'compile')).toMatchObject({
      code: 'ACC_STRATEGY_CANNOT',
      details: { refused: [['compile', 'fsdp', 'mesh.tensor']] },
    });
  });
});
