import { describe, expect, inject, it } from 'vitest';
import { collectiveCases, runRanks, type CaseResult } from '@acc/testkit';

const script = new URL('./ranks/conformance.ts', import.meta.url);

/**
 * Even and odd numbers of ranks divide tensors into different parts. More numbers are tested before
 * a release.
 */
const SIZES = inject('isRelease') ? [1, 2, 3, 4, 5, 7] : [1, 2, 3];
const ENGINES = ['shm', 'gloo'];
const groupsOf = (ranks: number) =>
  ENGINES.flatMap((engine) =>
    (ranks === 2 ? ['native', 'acc', 'cpu'] : ['native']).map((tensors) => `${engine}:${tensors}`),
  );

describe('collectives pass the conformance suite', () => {
  it.each(SIZES.map((ranks) => [ranks, groupsOf(ranks)] as const))(
    'on %i ranks over %j',
    async (ranks, groups) => {
      const left = collectiveCases.filter(
        ({ minRanks = 1, maxRanks = 64 }) => ranks < minRanks || ranks > maxRanks,
      );
      const results = await runRanks<Record<string, CaseResult[]>>({
        script,
        ranks,
        // Every type passes on fewer ranks.
        args: [ranks > 3 && !inject('isRelease') ? 'few' : 'all', ...groups],
        // Tests set the policy to passive. These two ranks also spin for as long as others do by default.
        env: { OMP_NUM_THREADS: '1', ...(ranks === 2 && { OMP_WAIT_POLICY: 'active' }) },
        timeoutMs: 280_000,
      });
      for (const { exitCode, stderr, result } of results) {
        expect(exitCode, stderr).toBe(0);
        expect(Object.keys(result!)).toEqual(groups);
        for (const [group, cases] of Object.entries(result!)) {
          expect(
            cases.filter(({ outcome }) => outcome === 'failed'),
            group,
          ).toEqual([]);
          expect(cases.filter(({ outcome }) => outcome === 'passed')).toHaveLength(
            collectiveCases.length - left.length,
          );
        }
      }
    },
  );
});
