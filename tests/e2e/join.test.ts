import { expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

interface Result {
  seen: number[];
  shards: { wrong: string[]; gathered: number[][] };
  afterJoin: number[][];
  weights: number[][];
  reference: number[][];
  state: unknown[][];
  batches: number;
  weight: number;
  tensors: number;
}

async function run(lengths: readonly number[], hook: string): Promise<Result[]> {
  const script = new URL('./ranks/join.ts', import.meta.url);
  const args = [lengths.join(), hook];
  const env = { OMP_NUM_THREADS: '1' };
  const results = await runRanks<Result>({ script, ranks: lengths.length, args, env });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results.map(({ result }) => result!);
}

it.each([[[2, 5]], [[3, 0, 4]], [[4, 4]]])('ranks of %j steps train as one process does', async (lengths) => {
  const ranks = await run(lengths, 'none');
  const size = lengths.length;
  for (const [rank, result] of ranks.entries()) {
    expect(result.weights).toEqual(ranks[0]!.weights);
    expect(result.afterJoin).toEqual(ranks[0]!.afterJoin);
    expect(result.state).toEqual(ranks[0]!.state);
    expect(result.tensors).toBe(ranks[0]!.tensors);
    result.weights.forEach((values, i) =>
      expectClose(values, result.reference[i]!, { rtol: 1e-5, atol: 2e-6 }),
    );
    // A gather gives what the ranks have that still call it.
    const active = (step: number) => lengths.filter((length) => step < length).length;
    const together = Array.from({ length: lengths[rank]! }, (_, step) => active(step));
    expect(result.seen).toEqual([...together, size, size]);
  }
});

it('verbs between a whole and shards go on among the ranks that have data', async () => {
  const lengths = [3, 0, 4];
  for (const [rank, { shards, weights, reference }] of (await run(lengths, 'shards')).entries()) {
    expect(shards.wrong).toEqual([]);
    // One bucket a step; each gather gives the ranks that are left. What is trained besides comes after these.
    const together = Array.from({ length: lengths[rank]! }, (_, step) =>
      [0, 1, 2].filter((one) => step < lengths[one]!),
    );
    const all = [0, 1, 2];
    expect(shards.gathered.slice(0, lengths[rank]! + 2)).toEqual([...together, all, all]);
    weights.forEach((values, i) => expectClose(values, reference[i]!, { rtol: 1e-5, atol: 2e-6 }));
  }
});

it('prepared data may end where it ends', async () => {
  const ranks = await run([1, 1, 1], 'none');
  expect(ranks.map(({ batches }) => batches)).toEqual([2, 2, 1]);
  // Steps over samples 0 to 5, then 6 to 9.
  for (const { weight } of ranks) expectClose(weight, 1 - 0.1 * 2.5 - 0.1 * 7.5, { atol: 1e-6 });
});

it.each(['bf16', 'powerSgd', 'topK', 'oneBit'])('with %s ranks stay alike', async (hook) => {
  const [first, second] = await run([5, 2], hook);
  expect(second!.afterJoin).toEqual(first!.afterJoin);
  expect(second!.weights).toEqual(first!.weights);
  expect(second!.state).toEqual(first!.state);
  expect(first!.weights.flat().every(Number.isFinite)).toBe(true);
});
