import { expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { WeighedTerms } from './ranks/weighed-terms.js';
import type { Args, Weighed } from './ranks/weighed.js';

const CLOSE = { rtol: 1e-4, atol: 1e-6 };

const env = { OMP_NUM_THREADS: '1' };
const module = new URL('./ranks/weighed.ts', import.meta.url);
const run = (args: Args) => onRanks<Weighed>({ module, ranks: 2, args, env });

it.each(['tensor', 'number'] as const)(
  'a compiled step whose loss states its items by a %s',
  async (counts) => {
    const plain = await run({ counts, isCompiled: false });
    const compiled = await run({ counts, isCompiled: true });
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
);

it('terms that layers add to a loss of some items count as on one process, or are refused', async () => {
  const terms = new URL('./ranks/weighed-terms.ts', import.meta.url);
  const runTerms = (ranks: number) => onRanks<Record<string, WeighedTerms>>({ module: terms, ranks, env });
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
});
