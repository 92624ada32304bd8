import { describe, expect, it } from 'vitest';
import { expectNoLeak } from './expect-no-leak.js';

describe('expectNoLeak', () => {
  it('passes if counts return to their values', async () => {
    let tensors = 5;
    const fn = (): void => {
      tensors++;
      tensors--;
    };
    await expectNoLeak(fn, { memory: () => ({ tensors }) });
  });

  it('allows the warm-up to keep what it creates', async () => {
    const held: number[] = [];
    const fn = (): void => void (held.length < 2 && held.push(1));
    await expectNoLeak(fn, { memory: () => ({ tensors: held.length }), warmup: 2 });
  });

  it('counts tensors, also of async functions', async () => {
    let tensors = 0;
    const fn = async (): Promise<void> => {
      await Promise.resolve();
      tensors += 2;
    };
    await expect(expectNoLeak(fn, { memory: () => ({ tensors }), repeats: 3 })).rejects.toMatchObject({
      code: 'ACC_EXPECT_NO_LEAK',
      details: { before: { tensors: 4 }, after: { tensors: 10 }, repeats: 3 },
    });
  });

  it('counts native bytes', async () => {
    let nativeBytes = 0;
    const memory = () => ({ tensors: 1, nativeBytes });
    await expect(expectNoLeak(() => (nativeBytes += 64), { memory })).rejects.toMatchObject({
      code: 'ACC_EXPECT_NO_LEAK',
    });
  });
});
