import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';

const script = new URL('./ranks/memory.ts', import.meta.url);

const peakOf = (ranks: number, attention: string): Promise<number[]> =>
  resultsOfRanks<number>({ script, ranks, args: [attention], env: { OMP_NUM_THREADS: '1' } });

it('n ranks need one n-th of the memory for a long sequence', async () => {
  const [alone] = await peakOf(1, 'ring');
  // Each rank has all weights and their gradients, and keys, values and their gradients of two pieces.
  for (const peak of await peakOf(4, 'ring')) expect(peak / alone!).toBeLessThan(0.29);
  // Whole sequences of a share of the heads are copies of pieces, a quarter more than the rest: 0.62 and 0.31.
  for (const peak of await peakOf(2, 'heads')) expect(peak / alone!).toBeLessThan(0.65);
  for (const peak of await peakOf(4, 'heads')) expect(peak / alone!).toBeLessThan(0.325);
});
