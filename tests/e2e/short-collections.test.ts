import { expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

// Each pause of one rank is a pause of all, and it takes as long as there is much to copy.
it.each([1, 2])(
  'on %i ranks a step leaves almost nothing that needs a full garbage collection',
  async (ranks) => {
    const results = await runRanks<{ bytesOfAStep: number }>({
      script: new URL('./ranks/short-collections.ts', import.meta.url),
      ranks,
      env: { OMP_NUM_THREADS: '1' },
      nodeArgs: ['--expose-gc', '--no-allocation-site-pretenuring'],
    });
    for (const { exitCode, stderr, result } of results) {
      expect(exitCode, stderr).toBe(0);
      expect(result!.bytesOfAStep).toBeLessThan(3000);
    }
  },
);
