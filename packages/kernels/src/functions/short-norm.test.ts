import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { liveTensors, memoryStats } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { cast, keepIn } from '../precision/index.js';
import { registerAccBackend } from '../register-backend.js';
import { valueAndGradients, wave } from '../testing/function-gradients.js';
import { layerNorm } from './layer-norm.js';
import { rmsNorm } from './rms-norm.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});
afterEach(() => keepIn(undefined));

const NORMS: Readonly<
  Record<string, readonly [f: (...xs: tf.Tensor[]) => tf.Tensor, ...shapes: number[][]]>
> = {
  'layerNorm with gain and bias': [(x, gain, bias) => layerNorm(x!, gain, bias), [7, 40], [40], [40]],
  'layerNorm with gain': [(x, gain) => layerNorm(x!, gain), [3, 5, 17], [17]],
  'layerNorm with bias': [(x, bias) => layerNorm(x!, null, bias), [3, 5, 17], [17]],
  'layerNorm alone': [(x) => layerNorm(x!), [300, 256]],
  'layerNorm over two dims': [
    (x, gain, bias) => layerNorm(x!, gain, bias, { axis: [1, 2] }),
    [4, 5, 6],
    [5, 6],
    [5, 6],
  ],
  'layerNorm over the first dim': [(x, gain) => layerNorm(x!, gain, null, { axis: 0 }), [9, 4], [9]],
  'rmsNorm with gain': [(x, gain) => rmsNorm(x!, gain), [7, 40], [40]],
  'rmsNorm alone': [(x) => rmsNorm(x!), [3, 5, 17]],
};

describe.each(['bfloat16', 'float16'] as const)('norms that save %s', (dtype) => {
  it.each(Object.entries(NORMS))(
    'have the values of float32, and gradients close to it: %s',
    (_, [f, ...shapes]) => {
      tf.tidy(() => {
        const inputs = shapes.map((shape, seed) => wave(shape, seed));
        const expected = valueAndGradients(f, inputs);
        keepIn(dtype);
        const actual = valueAndGradients(f, inputs);
        expectClose(actual[0]!.dataSync(), expected[0]!.dataSync(), { rtol: 1e-5, atol: 1e-5 });
        actual.forEach((x, i) =>
          expectClose(x.dataSync(), expected[i]!.dataSync(), { rtol: 0.02, atol: 0.02 }),
        );
      });
    },
  );

  it('are accurate for values with a large mean', () => {
    tf.tidy(() => {
      const x = wave([6, 32], 0).mul(0.5).add(300);
      const expected = valueAndGradients((t) => layerNorm(t), [x]);
      keepIn(dtype);
      valueAndGradients((t) => layerNorm(t), [x]).forEach((y, i) => {
        expectClose(y.dataSync(), expected[i]!.dataSync(), { rtol: 0.02, atol: 0.02 });
      });
    });
  });

  it('accept a 16-bit gradient', () => {
    tf.tidy(() => {
      const [x, dy] = [wave([6, 32], 0), wave([6, 32], 1)];
      const norm = (t: tf.Tensor) => layerNorm(t);
      const expected = tf.grad(norm)(x, dy).dataSync();
      keepIn(dtype);
      const actual = tf
        .grad(norm)(x, cast(dy, dtype, 'float32'))
        .dataSync();
      expectClose(actual, expected, { rtol: 0.02, atol: 0.02 });
    });
  });
});

it('save half the memory, and leave nothing behind', () => {
  const x = wave([512, 512], 0);
  const kept = () => {
    let bytes = NaN;
    tf.tidy(() => {
      tf.grad((t) => {
        const before = memoryStats().allocatedBytes;
        const y = tf.tidy(() => layerNorm(t.mul(2)).sum());
        bytes = memoryStats().allocatedBytes - before;
        return y;
      })(x);
    });
    return bytes / 2 ** 20;
  };
  expect(kept()).toBeGreaterThanOrEqual(1);
  keepIn('bfloat16');
  const before = liveTensors();
  expect(kept()).toBeLessThan(0.6);
  expect(liveTensors()).toBe(before);
});

it('have no second gradient if x was not saved', () => {
  // The norm runs inside the outer gradient, and the inner gradient differentiates it.
  const second = () =>
    tf.tidy(() =>
      tf.grad((t) => {
        const y = layerNorm(t);
        return tf
          .grad(() => y.square().sum())(t)
          .sum();
      })(wave([3, 4], 0)),
    );
  expect(second().shape).toEqual([3, 4]);
  keepIn('bfloat16');
  expect(second).toThrowError(expect.objectContaining({ code: 'ACC_NO_SECOND_GRADIENT' }) as Error);
});
