import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCheckpoint, fileStorage } from '@acc/checkpoint';
import { expectClose, runRanks } from '@acc/testkit';

interface State {
  weights: Record<string, number[]>;
  moments: Record<string, number[]>[];
}
/** By the size of the job that saved. */
type Outcomes = Record<string, { at: State; after?: State }>;

const SIZES = [1, 2, 3, 4];
let folder: string;
/** What each job of the first size had when it saved, by size; and what it came to on the second, from each checkpoint. */
const saved: Outcomes = {};
const loaded: Record<number, Outcomes> = {};

async function job(ranks: number, action: 'save' | 'load'): Promise<Outcomes> {
  const script = new URL('./ranks/elastic.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const results = await runRanks<Outcomes>({
    script,
    ranks,
    args: [action, folder],
    env,
    timeoutMs: 120_000,
  });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results[0]!.result!;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-elastic-'));
  for (const size of SIZES) Object.assign(saved, await job(size, 'save'));
  for (const size of SIZES) loaded[size] = await job(size, 'load');
}, 600_000);
afterAll(() => rm(folder, { recursive: true }));

/** libtorch's kernels round the ends of a vector otherwise than its middle, and ranks have others. */
function expectSame(some: State, others: State): void {
  const [a, b] = [some, others].map(({ weights, moments }) => [weights, ...moments]) as [
    typeof some.moments,
    typeof some.moments,
  ];
  a.forEach((wholes, kind) => {
    for (const [name, values] of Object.entries(wholes))
      expectClose(values, b[kind]![name]!, { rtol: 1e-5, atol: 1e-7 });
  });
}

it('ranks train their parts as one rank trains all', () => {
  const one = saved['1']!.at;
  expect(Object.keys(one.weights).sort()).toEqual(['a', 'b', 'c', 'columns', 'few', 'replicated', 'rows']);
  for (const size of SIZES) expectSame(saved[size]!.at, one);
});

describe.each(SIZES)('what %i ranks have saved', (from) => {
  it.each(SIZES)('goes on on %i ranks, optimizer and all', (to) => {
    const { at, after } = loaded[to]![from]!;
    expect(at).toEqual(saved[from]!.at);
    expectSame(after!, loaded[1]![1]!.after!);
    expect(after).not.toEqual(at);
  });

  it('was written by each rank, each element once', async () => {
    const { index } = await openCheckpoint({ storage: fileStorage(join(folder, String(from))), prefix: '' });
    expect(index.files.map(({ name }) => name.split('.')[0])).toEqual(
      Array.from({ length: from }, (_, rank) => `rank-${rank}-of-${from}`),
    );
    for (const { shape, parts } of Object.values(index.tensors)) {
      const size = (sizes: readonly number[]) => sizes.reduce((count, length) => count * length, 1);
      expect(parts.reduce((sum, { sizes }) => sum + size(sizes), 0)).toBe(size(shape));
    }
    expect(index.tensors['parameters/a']!.shape).toEqual([3, 4]);
    const header = await readFile(join(folder, String(from), index.files[0]!.name));
    expect(header.subarray(8, 9).toString()).toBe('{');
  });
});
