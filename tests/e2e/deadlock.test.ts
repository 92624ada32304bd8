import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';
import { patienceVariables, patienceWith } from '../patience.js';

const script = new URL('./ranks/deadlock.ts', import.meta.url);

interface Outcome {
  readonly code?: string;
  readonly message?: string;
  readonly value?: unknown;
}

async function outcomesOf(engine: string, what: string, patience = {}): Promise<Outcome[]> {
  const env = { OMP_NUM_THREADS: '1' };
  const results = await runRanks<Outcome>({
    script,
    ranks: 4,
    args: [engine, what, JSON.stringify(patience)],
    env,
  });
  return results.map(({ result, stderr }) => {
    expect(result, stderr).toBeDefined();
    return result!;
  });
}

describe.each(['shm', 'gloo'])('ranks that wait for each other in different groups over %s', (engine) => {
  it.each([
    [
      'one-more',
      /rank 1 waits in allReduce\(float32\[4\], 'sum'\), call \d+ of the group of ranks 1, 3, for rank 3\b/,
      /rank 3 waits in barrier\(\), call \d+ of all ranks, for rank 1\b/,
    ],
    [
      'message',
      /rank 1 waits in a receive from rank 3 in the group of ranks 1, 3\b/,
      /rank 3 waits in barrier\(\), call \d+ of all ranks, for rank 1\b/,
    ],
    [
      'ring',
      /rank 0 waits in allReduce\(float32\[4\], 'sum'\), call \d+ of the group of ranks 0, 1, for rank 1\b/,
      /rank 3 waits in allReduce\(float32\[4\], 'sum'\), call \d+ of the group of ranks 2, 3, for rank 2\b/,
    ],
  ])('are told who waits where: %s', async (what, one, other) => {
    const patience = patienceWith('noticeMs', 'deadlockMs');
    for (const { code, message } of await outcomesOf(engine, what, patience)) {
      expect(code, message).toBe('ACC_COLLECTIVE_DEADLOCK');
      expect(message).toMatch(one);
      expect(message).toMatch(other);
      expect(message).toMatch(/deadlock\.ts:\d+:\d+/);
      expect(message!.match(/→/g)).toHaveLength(1);
    }
  });

  it.each(['slow', 'begun'])('are not suspected while one of them computes: %s', async (what) => {
    for (const outcome of await outcomesOf(engine, what)) expect(outcome).toEqual({ value: 4 });
  });
});

it('one pipelined step more than the others is told on every rank of a mesh', async () => {
  const results = await runRanks<Outcome>({
    script: new URL('./pipeline/ranks/one-step-more.ts', import.meta.url),
    ranks: 4,
    env: { OMP_NUM_THREADS: '1', ...patienceVariables('noticeMs', 'deadlockMs') },
  });
  for (const { result, stderr } of results) {
    expect(result?.code, stderr).toBe('ACC_COLLECTIVE_DEADLOCK');
    expect(result!.message).toMatch(/rank 1 waits in .* the group of ranks 1, 3, for rank 3\b/);
    expect(result!.message).toMatch(/rank 3 waits in barrier\(\), call \d+ of all ranks, for rank 1\b/);
  }
});
