import { describe, expect, it } from 'vitest';
import { collectiveCases, type CaseResult } from '@acc/testkit';
import { runOnThreads } from '@acc/testkit/threads';

const module = new URL('./ranks/thread-conformance.ts', import.meta.url);

describe('collectives of threads pass the conformance suite', () => {
  it.each([
    [1, 'native'],
    [2, 'native'],
    [2, 'acc'],
    [2, 'cpu'],
    [3, 'acc'],
    [4, 'cpu'],
  ] as const)('on %i ranks, tensors of %s', async (ranks, args) => {
    const results = await runOnThreads<CaseResult[]>({ module, ranks, args });
    const expected = collectiveCases.map(({ name, minRanks = 1, maxRanks = Infinity }) => {
      const outcome = ranks < minRanks || ranks > maxRanks ? 'none' : 'passed';
      return { name, outcome };
    });
    expect(results).toHaveLength(ranks);
    for (const result of results) expect(result).toEqual(expected);
  });
});
