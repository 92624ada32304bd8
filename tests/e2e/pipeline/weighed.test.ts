import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';
import type { Weighed } from './ranks/weighed.js';

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
