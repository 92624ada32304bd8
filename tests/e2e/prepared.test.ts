import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';

interface Seen {
  readonly isPrepared: boolean;
  readonly same: Readonly<Record<string, boolean>>;
}

const script = new URL('./ranks/prepared.ts', import.meta.url);
const seenWith = async (cache: string): Promise<Seen> => {
  const env = { OMP_NUM_THREADS: '1', ACC_START_CACHE: cache };
  const [seen] = await resultsOfRanks<Seen>({ script, ranks: 1, env });
  return seen!;
};

it('a program sees the same of prepared packages as of others, and one instance of each', async () => {
  const { isPrepared, ...seen } = await seenWith('true');
  expect(isPrepared).toBe(true);
  expect(new Set(Object.values(seen.same))).toEqual(new Set([true]));
  expect({ isPrepared: false, ...seen }).toEqual(await seenWith('false'));
});
