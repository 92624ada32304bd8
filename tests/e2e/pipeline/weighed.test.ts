import { expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';
import type { WeighedTerms } from './ranks/weighed-terms.js';
import type { Weighed } from './ranks/weighed.js';

const CLOSE = { rtol: 1e-4, atol: 1e-6 };

const script = new URL('./ranks/weighed.ts', import.meta.url);
const run = (...args: string[]) =>
  resultsOfRanks<Weighed>({ script, ranks: 2, args, env: { OMP_NUM_THREADS: '1' } });

it.each(['tensor', 'number'])(
  'a compiled step whose loss states its items by a %s',
  async (counts) => {
    const [plain, compiled] = [await run(counts), await run(counts, 'compiled')];
    // The rank with the last stage would read a tensor in each replay.
    const reads = expect.stringMatching(
      /^it gives weighLoss a tensor, whose value is read, at .*weighed\.ts:\d+$/,
    ) as string;
    expect(compiled.map(({ reason }) => reason)).toEqual([
      undefined,
      counts === 'tensor' ? reads : undefined,
    ]);
    expect(compiled.map(({ replays }) => replays > 0)).toEqual([true, counts === 'number']);
    compiled.forEach(({ losses }, rank) => expect(losses).toEqual(plain[rank]!.losses));
  },
  60_000,
);

it('terms that layers add to a loss of some items count as on one process, or are refused', async () => {
  const url = new URL('./ranks/weighed-terms.ts', import.meta.url);
  const runTerms = (ranks: number) =>
    resultsOfRanks<Record<string, WeighedTerms>>({ script: url, ranks, env: { OMP_NUM_THREADS: '1' } });
  const [alone] = (await runTerms(1)) as [Record<string, WeighedTerms>];
  const ofRanks = await runTerms(2);
  // The layer is in one stage. The calls that measured it do not count.
  expect(ofRanks.reduce((sum, found) => sum + found.gpipe!.tokens, 0)).toBe(8);
  for (const found of ofRanks) {
    for (const way of ['gpipe', 'equal numbers']) {
      const { losses, weights, code } = found[way]!;
      expect(code).toBeUndefined();
      expectClose(losses, alone[way]!.losses, CLOSE);
      weights.forEach((values, i) => expectClose(values, alone[way]!.weights[i]!, CLOSE));
    }
    expect(found['1f1b']).toMatchObject({ code: 'ACC_LOSS_SEED_UNKNOWN', losses: [] });
  }
}, 90_000);
