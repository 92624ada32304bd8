import * as fc from 'fast-check';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { registerAccBackend } from '../register-backend.js';
import { expectSameAsCpu } from '../testing/compare.js';
import { finiteFloats, make, tensorOf } from '../testing/values.js';

const RUNS = { numRuns: 60 };
const length = fc.integer({ min: 1, max: 6 });
const interpolation = fc.constantFrom('nearest' as const, 'bilinear' as const);
const MODES = ['constant', 'reflect', 'wrap', 'nearest'] as const;

/** libtorch interpolates in float32, tfjs in doubles. */
const WEIGHTS = { rtol: 1e-5, atol: 1e-5 };

const images = (
  batch: fc.Arbitrary<number>,
  dims = fc.tuple(length, length, fc.integer({ min: 1, max: 4 })),
) => fc.tuple(batch, dims).chain(([count, dim]) => tensorOf('float32', [count, ...dim], finiteFloats()));

describe('images sampled at points', () => {
  it('cropAndResize is as on cpu, also for boxes beyond the image', async () => {
    const part = fc.constantFrom(-0.5, 0, 0.1, 0.25, 0.5, 0.7, 1, 1.3);
    const box = fc.tuple(part, part, part, part);
    const given = fc.record({
      image: images(fc.integer({ min: 1, max: 3 })),
      boxes: fc.array(box, { minLength: 1, maxLength: 3 }),
      // 3 may be beyond the last image.
      places: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 3, maxLength: 3 }),
      size: fc.tuple(length, length),
      interpolation,
      fill: fc.constantFrom(0, -2.5),
    });
    await fc.assert(
      fc.asyncProperty(given, ({ image, boxes, places, size, interpolation, fill }) =>
        expectSameAsCpu(
          () =>
            tf.image.cropAndResize(
              make(image) as tf.Tensor4D,
              tf.tensor2d(boxes),
              tf.tensor1d(places.slice(0, boxes.length), 'int32'),
              size,
              interpolation,
              fill,
            ),
          WEIGHTS,
        ),
      ),
      RUNS,
    );
  });

  it.each(MODES)('transform with %s is as on cpu', async (mode) => {
    const factor = fc.constantFrom(-1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2);
    const offset = fc.constantFrom(-7.25, -1, 0, 0.5, 1, 3, 9.75);
    const factors = fc.tuple(factor, factor, offset, factor, factor, offset, fc.constantFrom(0, 0.1), factor);
    const given = fc.record({
      // The cpu backend transforms only the first image.
      image: images(fc.constant(1)),
      factors,
      interpolation,
      size: fc.tuple(length, length),
    });
    await fc.assert(
      fc.asyncProperty(given, ({ image, factors, interpolation, size }) =>
        expectSameAsCpu(
          () =>
            tf.image.transform(
              make(image) as tf.Tensor4D,
              tf.tensor2d([factors]),
              interpolation,
              mode,
              0.5,
              size,
            ),
          WEIGHTS,
        ),
      ),
      RUNS,
    );
  });

  it('transform treats each image of a batch like a single image', async () => {
    registerAccBackend();
    await tf.setBackend('acc');
    tf.tidy(() => {
      const batch = tf.reshape(tf.sin(tf.range(0, 3 * 5 * 4 * 2)), [3, 5, 4, 2]) as tf.Tensor4D;
      const factors = tf.tensor2d([
        [1, 0, 0.5, 0, 1, 0, 0, 0],
        [0.5, 0.2, 0, -0.1, 1, 1, 0, 0],
        [1, 0, 0, 0, 1, 0, 0.1, 0.2],
      ]);
      const transformed = (image: tf.Tensor4D, by: tf.Tensor2D) =>
        tf.image.transform(image, by, 'bilinear', 'reflect', 0, [3, 3]);
      const each = [0, 1, 2].map((i) =>
        transformed(tf.slice(batch, [i, 0, 0, 0], [1, -1, -1, -1]), tf.slice(factors, [i, 0], [1, -1])),
      );
      expect(transformed(batch, factors).arraySync()).toEqual(tf.concat(each).arraySync());
      const same = tf.slice(factors, [0, 0], [1, -1]);
      expect(transformed(batch, same).shape).toEqual([3, 3, 3, 2]);
    });
  });

  it('rotateWithOffset is as on cpu, with one fill value or a fill colour', async () => {
    const given = fc.record({
      image: images(fc.integer({ min: 1, max: 2 })),
      radians: fc.constantFrom(0, Math.PI / 2, Math.PI, -Math.PI / 4, 0.3, 2),
      center: fc.constantFrom<number | [number, number]>(0.5, [0.25, 0.75], 0),
      fill: fc.constantFrom<number | [number, number, number]>(0, 1.5, [1, 2, 3]),
    });
    await fc.assert(
      fc.asyncProperty(given, ({ image, radians, center, fill }) =>
        expectSameAsCpu(() => tf.image.rotateWithOffset(make(image) as tf.Tensor4D, radians, fill, center)),
      ),
      RUNS,
    );
  });

  it('flipLeftRight is as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(images(fc.integer({ min: 1, max: 2 })), (image) =>
        expectSameAsCpu(() => tf.image.flipLeftRight(make(image) as tf.Tensor4D)),
      ),
      RUNS,
    );
  });
});
