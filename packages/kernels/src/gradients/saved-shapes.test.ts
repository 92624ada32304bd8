import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { liveTensors, memoryStats } from '@acc/native';
import { setMinElements } from '../pending/all-pending.js';
import { registerAccBackend } from '../register-backend.js';
import { expectSameAsCpu } from '../testing/compare.js';

registerAccBackend();
let undo: () => void;
beforeAll(() => {
  // Saved results that wait take no memory either.
  undo = setMinElements(Infinity);
  return tf.setBackend('acc');
});
afterAll(() => undo());

const BYTES = 2 ** 20;
const ROWS = 2 ** 9;
const x = () => tf.sin(tf.range(0, BYTES / 4)).reshape([ROWS, -1]) as tf.Tensor2D;

/**
 * Memory in MiB that the gradient of `f` keeps between the forward and the backward pass. `x` takes
 * 1 MiB.
 */
function keptMib(f: (t: tf.Tensor2D) => tf.Tensor): number {
  return tf.tidy(() => {
    const input = x();
    let kept = NaN;
    tf.grad((t) => {
      const before = memoryStats().allocatedBytes;
      const y = tf.tidy(() => f(t as tf.Tensor2D).sum());
      kept = (memoryStats().allocatedBytes - before) / BYTES;
      return y;
    })(input);
    return Math.round(kept * 100) / 100;
  });
}

const part = (t: tf.Tensor2D, i: number) => tf.slice(t, [i * 2, 0], [2, -1]);

// Each operator takes an input that nothing else keeps.
const CASES: Record<string, (t: tf.Tensor2D) => tf.Tensor> = {
  add: (t) => tf.add(tf.mul(t, 2), tf.mul(t, 3)),
  'add, broadcast': (t) => tf.add(tf.mul(t, 2), tf.mul(t, 3).slice([0, 0], [1, -1])),
  sub: (t) => tf.sub(tf.mul(t, 2), tf.mul(t, 3)),
  addN: (t) => tf.addN([tf.mul(t, 2), tf.mul(t, 3), tf.mul(t, 4)]),
  concat: (t) => tf.concat([tf.mul(t, 2), tf.mul(t, 3)], 1),
  stack: (t) => tf.stack([tf.mul(t, 2), tf.mul(t, 3)], 1),
  slice: (t) => part(tf.mul(t, 2), 1),
  pad: (t) =>
    tf.pad(tf.mul(t, 2), [
      [1, 2],
      [0, 3],
    ]),
  mirrorPad: (t) =>
    tf.mirrorPad(
      tf.mul(t, 2),
      [
        [0, 0],
        [1, 1],
      ],
      'reflect',
    ),
  reshape: (t) => tf.add(tf.mul(t, 2).reshape([-1]), 3),
  expandDims: (t) => tf.add(tf.mul(t, 2).expandDims(1), 3),
  cumsum: (t) => tf.cumsum(tf.mul(t, 2), 1),
  sum: (t) => tf.sum(tf.mul(t, 2), 0),
  mean: (t) => tf.mean(tf.mul(t, 2), 1),
};

const square = (seed: number) =>
  tf
    .cos(tf.range(0, ROWS ** 2))
    .mul(seed)
    .reshape([ROWS, ROWS]) as tf.Tensor2D;
const bias = () => tf.ones([ROWS]) as tf.Tensor1D;

/**
 * Ops whose gradient reads no values of their result. The result is saved only if the next operator
 * saves it.
 */
const LINEAR: Record<string, (t: tf.Tensor2D, weight: tf.Tensor2D) => tf.Tensor> = {
  'fused.matMul': (t, b) => tf.fused.matMul({ a: t, b, bias: bias() }),
  'fused.matMul, transposed': (t, b) => tf.fused.matMul({ a: t, b, transposeB: true }),
  'fused.conv2d': (t, weight) =>
    tf.fused.conv2d({
      x: t.reshape([1, 1, ROWS, ROWS]) as tf.Tensor4D,
      filter: weight.reshape([1, 1, ROWS, ROWS]) as tf.Tensor4D,
      strides: 1,
      pad: 'valid',
      bias: bias(),
    }),
};

describe('the tensor that is saved for gradients', () => {
  it.each(Object.entries(LINEAR))('is not the result of %s without activation', (_, f) => {
    const weight = square(1);
    expect(keptMib((t) => f(t, weight).add(1))).toBeLessThan(0.1);
  });

  it.each(Object.entries(LINEAR))('is the result of %s if an operator needs it', (_, f) => {
    const weight = square(1);
    expect(keptMib((t) => f(t, weight).square())).toBeCloseTo(1, 1);
    const own = tf.customGrad((t, save) => {
      (save as tf.GradSaveFunc)([t as tf.Tensor]);
      const gradFunc = (dy: tf.Tensor, [saved]: tf.Tensor[]) => dy.mul(saved!).mul(2);
      return { value: (t as tf.Tensor).square(), gradFunc };
    });
    const gradients = (then: (t: tf.Tensor) => tf.Tensor) =>
      tf.tidy(() =>
        tf
          .grads((t, w) => then(f(t as tf.Tensor2D, w as tf.Tensor2D)).sum())([x(), weight])
          .map((t) => Buffer.from(t.dataSync().buffer).toString('latin1')),
      );
    expect(gradients(own)).toEqual(gradients((t) => t.square()));
    expect(gradients((t) => own(t.relu()))).toEqual(gradients((t) => t.relu().square()));
  });

  it.each(Object.entries(CASES))('takes no memory for the shapes of %s', (_, f) => {
    // A product with a number keeps the number and its input, which stays in memory anyway.
    expect(keptMib(f)).toBeLessThan(0.1);
  });

  it.each(Object.entries(CASES))('gives the gradient of %s as on cpu', (_, f) =>
    expectSameAsCpu(() =>
      tf.grad((t) =>
        f(t as tf.Tensor2D)
          .square()
          .sum(),
      )(tf.range(0, 48).sin().reshape([8, 6])),
    ),
  );

  it.each(Object.entries(CASES))('gives the second gradient of %s as on cpu', (_, f) =>
    expectSameAsCpu(() =>
      tf.grad((t) =>
        tf
          .grad((u) =>
            f(u as tf.Tensor2D)
              .square()
              .sum(),
          )(t)
          .square()
          .sum(),
      )(tf.range(0, 48).sin().reshape([8, 6])),
    ),
  );

  it('is the result of relu, which the next operator saves too', () => {
    expect(keptMib((t) => tf.square(tf.relu(tf.mul(t, 2))))).toBeCloseTo(1, 1);
  });

  it('is the whole tensor if values are needed, also after a program registers its own gradient', () => {
    expect(keptMib((t) => tf.square(tf.mul(t, 2)))).toBeCloseTo(1, 1);
    const ours = tf.getGradient('Sub');
    const { gradFunc } = ours;
    const replace = (config: tf.GradConfig) => {
      tf.unregisterGradient('Sub');
      tf.registerGradient(config);
    };
    let sums: number[] = [];
    replace({
      ...ours,
      gradFunc: (dy, saved, attrs) => {
        sums = (saved as tf.Tensor[]).map((t) => t.sum().dataSync()[0]!);
        return gradFunc(dy, saved, attrs);
      },
    });
    try {
      tf.tidy(() => tf.grad((t) => tf.sub(t, tf.ones([3])).sum())(tf.tensor1d([1, 2, 3])));
      expect(sums).toEqual([6, 3]);
    } finally {
      replace(ours);
    }
  });

  it('leaves nothing behind', () => {
    const counts = () => {
      const { numTensors, numBytes } = tf.memory();
      return { numTensors, numBytes, live: liveTensors(), ids: tf.backend().numDataIds() };
    };
    const step = () =>
      tf.tidy(() =>
        tf.grad((t) =>
          tf
            .add(t.reshape([-1]), 1)
            .concat(tf.ones([2]))
            .sum(),
        )(x()),
      );
    step().dispose();
    const before = { ...counts(), buffers: tf.memory().numDataBuffers };
    for (let i = 0; i < 3; i++) step().dispose();
    expect({ ...counts(), buffers: tf.memory().numDataBuffers }).toEqual(before);
  });
});
