import { expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

interface Told {
  backend: string;
  plain: Record<string, number[]>;
  got: Record<string, number[]>;
  refused: Record<string, string>;
  mixed: string;
}

async function told(ranks: number, backend: string, engine: string): Promise<Told[]> {
  const script = new URL('./ranks/two-trainings.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1', ACC_COLLECTIVE_ENGINE: engine };
  const results = await runRanks<Told>({ script, ranks, args: [backend], env });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results.map(({ result }) => result!);
}

it.each([
  [1, 'acc', 'auto'],
  [2, 'acc', 'shm'],
  [3, 'acc', 'shm'],
  [2, 'cpu', 'gloo'],
  [3, 'cpu', 'shm'],
])(
  '%i ranks on %s over %s train several models at once as plain tfjs does',
  async (size, backend, engine) => {
    const ranks = await told(size, backend, engine);
    for (const [rank, one] of ranks.entries()) {
      expect(one.backend).toBe(backend);
      expect(Object.keys(one.got)).toHaveLength(4);
      for (const [name, numbers] of Object.entries(one.got)) {
        expectClose(numbers, one.plain[name]!, { rtol: 1e-5, atol: 1e-6 });
        expect(numbers, `${name}, rank ${rank}`).toEqual(ranks[0]!.got[name]);
      }
      expect(one.refused).toEqual({
        'a second fit of one model': 'Cannot start training because another fit() call is ongoing.',
        'a step of a loop beside a fit': size > 1 ? 'ACC_FIT_UNDER_WAY' : 'done',
        'steps of loops after it': 'done',
        'a step in a callback': 'done',
      });
      if (size === 1) expect(one.mixed).toBe('nothing');
      else
        expect(one.mixed).toMatch(
          /^ACC_COLLECTIVE_MISMATCH(?=.*rank 0: .* for a[\n,])(?=.*rank 1: .* for b([\n,]|$))/s,
        );
    }
  },
);
