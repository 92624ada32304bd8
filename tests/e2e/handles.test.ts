import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/handles.ts', import.meta.url);

const BACKENDS = ['acc', 'cpu'];

describe(`collectives with handles on the backends ${BACKENDS.join(' and ')}`, () => {
  it.each([2, 3])('run at the same time on %i ranks', async (size) => {
    const results = await runRanks<Record<string, object>>({
      script,
      ranks: size,
      args: BACKENDS,
      env: { OMP_NUM_THREADS: '1' },
    });
    const ranks = Array.from({ length: size }, (_, r) => r);
    const sum = ranks.reduce((a, b) => a + b, 0);
    const factors = sum + size;
    for (const { rank, exitCode, stderr, result } of results) {
      expect(exitCode, stderr).toBe(0);
      expect(Object.keys(result!)).toEqual(BACKENDS);
      for (const told of Object.values(result!))
        expect(told).toMatchObject({
          results: {
            reduce: [sum, size],
            gather: ranks,
            scatter: [2 * rank * factors, (2 * rank + 1) * factors],
            broadcast: [size],
          },
          isDone: true,
          isSame: true,
          donated: [size, size, size],
          isGiven: true,
          uneven: 'ACC_COLLECTIVE_SHAPE',
          noRank: 'ACC_COLLECTIVE_RANK',
          meanOfInts: 'ACC_COLLECTIVE_DTYPE',
          closed: 'ACC_COLLECTIVE_CLOSED',
          left: 8,
        });
    }
  });
});
