import { multinomial, setBackend, tensor, tensor2d, type Tensor1D } from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';

describe('Multinomial', () => {
  it.each([1, 42, 0.25, 123456])('draws as cpu does with seed %d', async (seed) => {
    await expectSameAsCpu(() => [
      multinomial(tensor2d([0.1, 0.2, 0.7, 0.6, 0.3, 0.1], [2, 3]), 50, seed, true),
      multinomial(tensor2d([0.5, -1, 2, 0, 0, 0], [2, 3]), 50, seed),
      multinomial(tensor([0, 1, 0, 0]) as Tensor1D, 20, seed, true),
    ]);
  });

  it('is reproducible with a seed, and differs without', async () => {
    await setBackend('acc');
    const logits = tensor([0, 0, 0, 0, 0, 0, 0, 0]) as Tensor1D;
    const draw = (seed?: number) => [...multinomial(logits, 64, seed).dataSync()];
    expect(draw(7)).toEqual(draw(7));
    expect(draw()).not.toEqual(draw());
  });

  it('has one outcome if there is only one', async () => {
    await expectSameAsCpu(() => multinomial(tensor2d([3, 4], [2, 1]), 3, 5));
  });
});
