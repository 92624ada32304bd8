import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { filesOfProjects } from '../../scripts/queue/projects.mjs';
import { BUDGET, FILE_BUDGET } from './rules/test-budget.js';

type Kind = keyof typeof BUDGET;

const table = join(import.meta.dirname, '..', '..', 'bench', 'results', 'test-time.json');
const counts = (JSON.parse(readFileSync(table, 'utf8')) as { after: Record<string, Record<Kind, number>> })
  .after;
const kinds = Object.keys(BUDGET) as Kind[];

it('the table has exactly the files of e2e, ranks and hosts: npm run test:time -- <test files> adds and removes rows', () => {
  const { e2e, ranks, hosts } = filesOfProjects();
  expect(Object.keys(counts).toSorted()).toEqual([...e2e!, ...ranks!, ...hosts!].toSorted());
});

it.each(kinds)('all files together are within the budget of %s', (kind) => {
  const total = Object.values(counts).reduce((sum, file) => sum + file[kind], 0);
  expect(total).toBeGreaterThan(0);
  expect(total).toBeLessThanOrEqual(BUDGET[kind]);
});

it.each(kinds)('no file exceeds its budget of %s', (kind) => {
  const large = Object.entries(counts).filter(([, file]) => file[kind] > FILE_BUDGET[kind]);
  expect(large.map(([test, file]) => `${test}: ${file[kind]} ${kind}`)).toEqual([]);
});
