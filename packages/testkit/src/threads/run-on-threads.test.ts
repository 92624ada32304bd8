import { afterAll, expect, it } from 'vitest';
import type { AccError } from '@acc/contract';
import { closeThreads, runOnThreads } from './index.js';

afterAll(closeThreads);

const module = new URL('../../fixtures/thread-protocol.ts', import.meta.url);

const run = (args: string, ranks = 2, timeoutMs?: number): Promise<unknown[]> =>
  runOnThreads({ module, ranks, args, ...(timeoutMs !== undefined && { timeoutMs }) });

async function failureOf(args: string, timeoutMs?: number): Promise<AccError> {
  return run(args, 2, timeoutMs).then(
    () => Promise.reject(new Error('it has succeeded')),
    (error: AccError) => error,
  );
}

const ranksIn = ({ details }: AccError) =>
  (details as { failed: { rank: number; code?: string }[] }).failed.map(({ rank, code }) => [rank, code]);

it('runs on any number of ranks, whose threads stay for later runs of the module', async () => {
  expect(await run('counts', 1)).toEqual([1]);
  expect(await run('counts', 3)).toEqual([1, 1, 1]);
  expect(await run('counts', 3)).toEqual([2, 2, 2]);
  expect(await run('counts', 1)).toEqual([2]);
});

it('passes values between ranks, and to the caller', async () => {
  const ofRank = (rank: number) => ({ rank, values: Float32Array.of(rank, Number.NaN) });
  const expected = [
    [ofRank(0), ofRank(1), ofRank(2)],
    [3, 3],
  ];
  expect(await run('exchanges values', 3)).toEqual([expected, expected, expected]);
});

it('reports the rank that fails first, and ends those that wait for it', async () => {
  const error = await failureOf('one throws');
  expect(error.code).toBe('ACC_RANK_FAILED');
  expect(ranksIn(error)).toEqual([
    [1, undefined],
    [0, 'ACC_PEER_LOST'],
  ]);
  // The line of the source, and not of what the threads load.
  expect(error.message).toMatch(
    /rank 1: RangeError: rank 1 is unwell\n.*fixtures\/thread-protocol\.ts:\d+:\d+/,
  );
  expect(error.message).not.toContain('threads.mjs');
  expect(error.message).toMatch(/rank 0: .*rank 1 has ended: RangeError: rank 1 is unwell/);
  // Threads of a failed run are replaced.
  expect(await run('counts')).toEqual([1, 1]);
});

it.each(['one ends', 'one exits'])('a rank that waits for one that has ended fails: %s', async (args) => {
  const error = await failureOf(args);
  expect(error.code).toBe('ACC_RANK_FAILED');
  expect(ranksIn(error)).toContainEqual([0, 'ACC_PEER_LOST']);
});

it('a result that cannot be sent is an error of its rank', async () => {
  expect(ranksIn(await failureOf('one returns a function'))).toEqual([[0, undefined]]);
});

it('ranks that all wait get an error that says for what', async () => {
  const waits = (await run('all receive', 3)) as [string, string[]][];
  for (const [code, lines] of waits) {
    expect(code).toBe('ACC_COLLECTIVE_DEADLOCK');
    expect(lines.filter((line) => line.includes('waits in a receive from'))).toHaveLength(3);
  }
  const inGroups = (await run('groups wait for each other')) as [string, string[]][];
  for (const [code, lines] of inGroups) {
    expect(code).toBe('ACC_COLLECTIVE_DEADLOCK');
    expect(lines.filter((line) => line.includes('waits in barrier()'))).toHaveLength(2);
  }
});

it('different calls are an error with the call of each rank, and the group goes on', async () => {
  const all = (await run('calls differ')) as [[string, string[]], number[]][];
  for (const [[code, lines], gathered] of all) {
    expect(code).toBe('ACC_COLLECTIVE_MISMATCH');
    expect(lines.map((line) => line.replace(/, (at|near) .*/, ''))).toEqual([
      "  rank 0: allReduce(float32[2], 'sum')",
      "  rank 1: allReduce(float32[1], 'sum')",
    ]);
    expect(gathered).toEqual([0, 1]);
  }
});

it('threads that take too long are ended', async () => {
  expect((await failureOf('one computes forever', 1_000)).code).toBe('ACC_RANKS_TIMEOUT');
  expect(await run('counts')).toEqual([1, 1]);
});

it('refuses a wrong number of ranks and unknown options', async () => {
  await expect(run('counts', 0)).rejects.toMatchObject({ code: 'ACC_BAD_OPTION' });
  await expect(runOnThreads({ module, ranks: 1, rank: 1 } as never)).rejects.toMatchObject({
    code: 'ACC_UNKNOWN_OPTION',
  });
});
