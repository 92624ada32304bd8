import { describe, expect, inject, it } from 'vitest';
import { collectiveCases, runRanks, type CaseResult } from '@acc/testkit';

const script = new URL('./ranks/conformance.ts', import.meta.url);

async function conform(engine: string, tensors: string, ranks: number): Promise<void> {
  const results = await runRanks<CaseResult[]>({
    script,
    ranks,
    args: [engine, tensors],
    env: { OMP_NUM_THREADS: '1' },
    timeoutMs: 240_000,
  });
  const left = collectiveCases.filter(
    ({ minRanks = 1, maxRanks = 64 }) => ranks < minRanks || ranks > maxRanks,
  );
  for (const { exitCode, stderr, result } of results) {
    expect(exitCode, stderr).toBe(0);
    expect(result!.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect(result!.filter(({ outcome }) => outcome === 'passed')).toHaveLength(
      collectiveCases.length - left.length,
    );
  }
}

/** Even and odd numbers of ranks cut tensors into different parts. More of them before a release. */
const SIZES = inject('isRelease') ? [1, 2, 3, 4, 5, 7] : [1, 2, 3, 5];

describe.each(['shm', 'gloo'])('collectives on %s keep the published rules', (engine) => {
  it.each(SIZES)('with native tensors on %i ranks', (ranks) => conform(engine, 'native', ranks), 300_000);

  it.each(['acc', 'cpu'])(
    'with tensors of tfjs backend %s',
    (backend) => conform(engine, backend, 2),
    300_000,
  );
});
