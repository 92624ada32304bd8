import { afterAll, expect, it } from 'vitest';
import type { CaseResult } from '@acc/testkit';
import { closeThreads, runOnThreads } from '@acc/testkit/threads';
import type { DdpOptions } from './options.js';

afterAll(closeThreads);

it.each<DdpOptions>([{}, { bucketBytes: 64, findUnused: true }, { commHook: { name: 'topK', ratio: 1 } }])(
  'ddp with %j passes the cases of every strategy on 1, 2 and 3 ranks',
  async (args) => {
    const module = new URL('../fixtures/conformance.ts', import.meta.url);
    const results = await runOnThreads<Record<number, CaseResult[]>>({
      module,
      ranks: 3,
      args,
    });
    for (const [rank, ofRank] of results.entries()) {
      expect(Object.keys(ofRank)).toEqual(['1', '2', '3'].slice(rank));
      for (const cases of Object.values(ofRank)) {
        expect(cases.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
        expect(cases.length).toBeGreaterThan(10);
      }
    }
  },
);
