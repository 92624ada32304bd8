import { expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

interface Told {
  backend: string;
  plain: Record<string, number[]>;
  got: Record<string, number[]>;
  refused: Record<string, string>;
  /** Of the last backend. */
  mixed?: string;
}

async function told(
  ranks: number,
  backends: readonly string[],
  engine: string,
): Promise<Record<string, Told>[]> {
  const script = new URL('./ranks/two-trainings.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1', ACC_COLLECTIVE_ENGINE: engine };
  const results = await runRanks<Record<string, Told>>({ script, ranks, args: backends, env });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results.map(({ result }) => result!);
}

function expectPlain(ranks: readonly Told[], backend: string): void {
  for (const [rank, one] of ranks.entries()) {
    expect(one.backend).toBe(backend);
    expect(Object.keys(one.got)).toHaveLength(4);
    for (const [name, numbers] of Object.entries(one.got)) {
      expectClose(numbers, one.plain[name]!, { rtol: 1e-5, atol: 1e-6 });
      expect(numbers, `${name}, rank ${rank}`).toEqual(ranks[0]!.got[name]);
    }
    expect(one.refused).toEqual({
      'a second fit of one model': 'Cannot start training because another fit() call is ongoing.',
      'a step of a loop beside a fit': ranks.length > 1 ? 'ACC_FIT_UNDER_WAY' : 'done',
      'steps of loops after it': 'done',
      'a step in a callback': 'done',
    });
  }
}

it.each([
  [1, ['acc'], 'auto'],
  [2, ['cpu', 'acc'], 'gloo'],
  [3, ['acc', 'cpu'], 'shm'],
])('%i ranks on %j over %s train several models at once like plain tfjs', async (size, backends, engine) => {
  const ranks = await told(size, backends, engine);
  for (const backend of backends) {
    expectPlain(
      ranks.map((rank) => rank[backend]!),
      backend,
    );
  }
  for (const { mixed } of ranks.map((rank) => rank[backends.at(-1)!]!)) {
    if (size === 1) expect(mixed).toBe('nothing');
    else
      expect(mixed).toMatch(
        /^ACC_COLLECTIVE_MISMATCH(?=.*rank 0: .* for a[\n,])(?=.*rank 1: .* for b([\n,]|$))/s,
      );
  }
});
