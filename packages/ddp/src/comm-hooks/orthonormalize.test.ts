import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { orthonormalize } from './orthonormalize.js';

const columns = (x: tf.Tensor2D) => tf.tidy(() => x.transpose().arraySync() as number[][]);

describe('orthonormalize', () => {
  it('returns orthonormal columns with the same span', () => {
    tf.tidy(() => {
      const x = tf.sin(tf.range(0, 21).square()).reshape([7, 3]) as tf.Tensor2D;
      const q = orthonormalize(x) as tf.Tensor2D;
      expectClose(tf.matMul(q, q, true).arraySync(), tf.eye(3).arraySync(), { atol: 1e-6 });
      expectClose(tf.matMul(q, tf.matMul(q, x, true)).arraySync(), x.arraySync(), { atol: 1e-6 });
    });
  });

  it('sets columns to zero that are zero or depend on earlier columns', () => {
    tf.tidy(() => {
      const first = tf.tensor2d([[3], [4]]);
      const x = tf.concat([first, first.mul(-7), tf.zeros([2, 1])], 1) as tf.Tensor2D;
      const [a, b, c] = columns(orthonormalize(x) as tf.Tensor2D);
      expectClose(a!, [0.6, 0.8], { atol: 1e-7 });
      expect([b, c]).toEqual([
        [0, 0],
        [0, 0],
      ]);
    });
  });
});
