import { describe, expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

interface Trained {
  trained: number[][];
  statistics: number[][];
  losses: number[];
  whilePrepared: boolean[];
  afterwards: boolean[];
  leaked: number;
}

const script = new URL('./ranks/batch-norm.ts', import.meta.url);

async function train(ranks: number, ...args: string[]): Promise<Trained[]> {
  const results = await runRanks<Trained>({ script, ranks, args, env: { OMP_NUM_THREADS: '1' } });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results.map(({ result }) => result!);
}

function expectSame(one: Trained, other: Trained): void {
  const tolerance = { rtol: 1e-5, atol: 1e-5 };
  for (const kind of ['trained', 'statistics'] as const) {
    expect(one[kind]).toHaveLength(other[kind].length);
    one[kind].forEach((values, i) => expectClose(values, other[kind][i]!, tolerance));
  }
  expectClose(one.losses, other.losses, tolerance);
}

describe('synchronised batch normalisation', () => {
  it.each(['acc', 'cpu'])('on %s trains 2 and 3 ranks as one with the whole batches', async (backend) => {
    // On acc: tfjs's own gradient fails for channels that are not last.
    const [alone] = await train(1, 'local', 'acc');
    for (const size of [2, 3]) {
      const ranks = await train(size, 'sync', backend);
      for (const rank of ranks) {
        expect(rank.trained).toEqual(ranks[0]!.trained);
        expect(rank.statistics).toEqual(ranks[0]!.statistics);
        expectSame(rank, alone!);
        expect(rank.leaked).toBe(0);
      }
    }
  });

  it('replaces the call of layers by tfjs alone, until memory is freed', async () => {
    const [sync] = await train(2, 'sync', 'cpu');
    expect(sync).toMatchObject({ whilePrepared: [true, false], afterwards: [false, false] });
  });
});

it('by default all ranks have the moving statistics of rank 0', async () => {
  const broadcast = await train(2, 'broadcast', 'acc');
  const local = await train(2, 'local', 'acc');
  expect(broadcast[1]!.statistics).toEqual(broadcast[0]!.statistics);
  expect(local[1]!.statistics).not.toEqual(local[0]!.statistics);
  expect(broadcast[0]!.statistics).toEqual(local[0]!.statistics);
  expect(broadcast[1]!.trained).toEqual(local[0]!.trained);
});
