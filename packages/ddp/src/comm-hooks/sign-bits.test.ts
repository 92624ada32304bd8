import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { packSigns, unpackSigns, wordsOf } from './sign-bits.js';

const BACKENDS = ['acc', 'cpu'];

describe.each(BACKENDS)('packed signs on %s', (backend) => {
  it.each([1, 31, 32, 33, 64, 1000])('of %i numbers are restored', async (count) => {
    await import('@acc/kernels/register');
    await tf.setBackend(backend);
    const values = Float32Array.from({ length: count }, (_, i) => Math.sin(i * i + count));
    values[0] = 0;
    tf.tidy(() => {
      const words = packSigns(tf.tensor1d(values));
      expect([words.dtype, words.shape]).toEqual(['int32', [wordsOf(count)]]);
      expect(wordsOf(count)).toBe(Math.ceil(count / 32));
      const signs = unpackSigns(tf.concat([words, words]), count);
      const expected = [...values].map((value) => (value >= 0 ? 1 : -1));
      expect(signs.arraySync()).toEqual([expected, expected]);
    });
  });

  it('may be words with every bit set or none', async () => {
    await tf.setBackend(backend);
    tf.tidy(() => {
      const words = packSigns(tf.concat([tf.ones([32]), tf.fill([32], -1)]));
      expect([...words.dataSync()]).toEqual([-1, 0]);
    });
  });
});
