import { afterAll, expect, it } from 'vitest';
import type { CaseResult } from '@acc/testkit';
import { closeThreads, runOnThreads } from '@acc/testkit/threads';

afterAll(closeThreads);

it('the example of a sharded strategy passes the cases of every strategy on 1, 2 and 3 ranks', async () => {
  const module = new URL('../../../examples/own-strategy/conformance.ts', import.meta.url);
  const results = await runOnThreads<Record<number, CaseResult[]>>({ module, ranks: 3 });
  for (const [rank, ofRank] of results.entries()) {
    expect(Object.keys(ofRank)).toEqual(['1', '2', '3'].slice(rank));
    for (const cases of Object.values(ofRank)) {
      expect(cases.length).toBeGreaterThan(10);
      expect(cases.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
    }
  }
});
