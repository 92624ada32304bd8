import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { SingleCollective } from '@acc/collective';
import { normOver } from './norm.js';

beforeAll(() => tf.setBackend('cpu'));

/** An axis with `size` ranks that all have the same numbers. */
function axisOf(size: number): SingleCollective {
  const axis = new SingleCollective();
  return Object.assign(axis, { size, allReduce: (x: tf.Tensor) => tf.mul(x, size) });
}

it.each([
  [[2], [3, 4]],
  [
    [2, 3],
    [1, 2, 3, 4],
  ],
  [
    [2, 3, 5],
    [1, 2, 3, 4, 5, 6, 7, 8],
  ],
] as const)(
  'a norm over axes of %j ranks sums each group over the axes that distribute it',
  (sizes, norms) => {
    // Bit k of the place of a group says whether axis k distributes it.
    const squares = norms.map((norm, bits) =>
      sizes.reduce<number>((square, size, axis) => square * ((bits >> axis) & 1 ? size : 1), norm ** 2),
    );
    const expected = Math.sqrt(squares.reduce((sum, square) => sum + square, 0));
    const scalars = norms.map((norm) => tf.scalar(norm));
    const before = tf.memory().numTensors;
    const found = normOver(scalars, sizes.map(axisOf));
    expect(found.shape).toEqual([]);
    expect(found.dataSync()[0]).toBeCloseTo(expected, 4);
    found.dispose();
    expect(tf.memory().numTensors).toBe(before);
    tf.dispose(scalars);
  },
);
