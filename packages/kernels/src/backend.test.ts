import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { liveTensors } from '@acc/native';
import type { AccBackend } from './backend.js';
import { registerAccBackend } from './register-backend.js';

const acc = (): AccBackend => tf.findBackend('acc') as AccBackend;
const values = (x: tf.Tensor): (number | string)[] => Array.from(x.dataSync() as ArrayLike<number | string>);

beforeAll(() => registerAccBackend());
beforeEach(() => tf.setBackend('acc'));

describe('tensors that move between backends', () => {
  it.each([
    ['float32', [1.5, -2, NaN]],
    ['int32', [1, -2, 2 ** 31 - 1]],
    ['bool', [1, 0, 1]],
    ['string', ['a', '', 'é']],
  ] as const)('keep their %s values there and back', async (dtype, elements) => {
    const x = tf.tensor1d([...elements] as number[] | string[], dtype);
    for (const name of ['cpu', 'acc', 'cpu', 'acc']) {
      await tf.setBackend(name);
      expect(tf.tidy(() => values(tf.concat([x, x])))).toEqual([...elements, ...elements]);
    }
    x.dispose();
  });

  it('leave nothing behind', async () => {
    const before = { ids: acc().numDataIds(), live: liveTensors(), tensors: tf.memory().numTensors };
    const x = tf.tensor2d([
      [1, 2],
      [3, 4],
    ]);
    const flat = tf.reshape(x, [4]);
    for (const name of ['cpu', 'acc', 'cpu', 'acc']) {
      await tf.setBackend(name);
      expect(tf.tidy(() => values(tf.add(flat, tf.reshape(x, [4]))))).toEqual([2, 4, 6, 8]);
    }
    x.dispose();
    expect(values(flat)).toEqual([1, 2, 3, 4]);
    flat.dispose();
    expect({ ids: acc().numDataIds(), live: liveTensors(), tensors: tf.memory().numTensors }).toEqual(before);
  });

  it('are not looked for on a backend that does not hold them', () => {
    // tfjs registers data of an unnamed other backend in this way.
    const nowhere = { dataId: {}, shape: [1], dtype: 'float32' } as const;
    const x = tf.engine().makeTensorFromTensorInfo({ ...nowhere, shape: [1] }, acc());
    expect(() => x.dataSync()).toThrowError(expect.objectContaining({ code: 'ACC_DATA_UNKNOWN' }));
    expect(() => tf.add(x, 1)).toThrowError(expect.objectContaining({ code: 'ACC_DATA_UNKNOWN' }));
  });

  it('may be variables', async () => {
    await tf.setBackend('cpu');
    const v = tf.variable(tf.tensor1d([1, 2]));
    await tf.setBackend('acc');
    tf.tidy(() => v.assign(tf.add(v, 1)));
    expect(values(v)).toEqual([2, 3]);
    v.dispose();
  });
});

describe('data that two tensors of different shapes share', () => {
  it('is converted for each of them', () =>
    tf.tidy(() => {
      const x = tf.ones([2, 3]);
      const y = tf.reshape(x, [3, 2]);
      const shapes = [x, y, x].map((one) => acc().converted(one, 'bfloat16').shape);
      expect(shapes).toEqual([
        [2, 3],
        [3, 2],
        [2, 3],
      ]);
    }));
});

describe('data that was disposed', () => {
  it('causes an error that says so', () => {
    const x = tf.tensor1d([1]);
    const { dataId, shape, dtype } = x;
    x.dispose();
    expect(() => acc().native({ dataId, shape, dtype })).toThrowError(
      expect.toSatisfy((error) => isAccError(error, 'ACC_DATA_UNKNOWN')),
    );
    expect(acc().disposeData(dataId)).toBe(true);
  });
});
