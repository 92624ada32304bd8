import { expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';

const module = new URL('./ranks/memory.ts', import.meta.url);

const peakOf = (ranks: number, attention: string): Promise<number[]> =>
  onRanks<number>({ module, ranks, args: attention, env: SAME_KERNELS });

it('n ranks need one n-th of the memory for a long sequence', async () => {
  const [alone] = await peakOf(1, 'ring');
  const share = async (ranks: number, attention: string) =>
    Math.max(...(await peakOf(ranks, attention))) / alone!;
  // Each rank has all weights and their gradients, and keys, values and their gradients of two pieces.
  // Backward needs the output of attention twice: as attention has cut it, and for pieces.
  expect(await share(2, 'ring')).toBeLessThan(0.55);
  expect(await share(4, 'ring')).toBeLessThan(0.28);
  expect(await share(2, 'heads')).toBeLessThan(0.55);
  expect(await share(4, 'heads')).toBeLessThan(0.28);
});
