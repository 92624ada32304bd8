import { expect, it } from 'vitest';
import { refreshed } from './weights.mjs';

const known = {
  'b.test.ts': { processorSeconds: 2, seconds: 8 },
  'gone.test.ts': { processorSeconds: 1, seconds: 1 },
};
const count = (test, processorSeconds, seconds) => [test, { processorSeconds, seconds }];
const isThere = (file) => file !== 'gone.test.ts';

it('takes the counts of a run, and leaves out files that are gone', () => {
  const counts = [count('b.test.ts', 3.04, 4), count('a.test.ts', 0.01, 5)];
  const rows = refreshed(known, counts, { isLoaded: false, isThere });
  expect(Object.entries(rows)).toEqual([
    ['a.test.ts', { processorSeconds: 0.1, seconds: 5 }],
    ['b.test.ts', { processorSeconds: 3, seconds: 4 }],
  ]);
});

it('keeps the part of a core that a file is known to need, if the machine was loaded', () => {
  const counts = [count('b.test.ts', 3, 100), count('new.test.ts', 6, 100)];
  expect(refreshed(known, counts, { isLoaded: true, isThere })).toEqual({
    'b.test.ts': { processorSeconds: 3, seconds: 12 },
    'new.test.ts': { processorSeconds: 6, seconds: 6 },
  });
});
