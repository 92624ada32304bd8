import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import type { TapeHooks } from '@acc/contract';
import { Accelerator } from '../accelerator.js';

let accelerator: Accelerator;
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
});

const create = async (tape: TapeHooks) => {
  accelerator = await Accelerator.create({ engine: 'acc', plugins: [{ name: 'hooked', tape }] });
};

describe('hooks around operators', () => {
  it('are called for operators on tensors that share the values of a variable, until it has others', async () => {
    const log: string[] = [];
    await create({
      before: (variables, phase) =>
        void log.push(`${phase} ${variables.map(({ shape }) => shape.join()).join(' ')}`),
    });
    const [first, second] = [tf.variable(tf.ones([3, 5])), tf.variable(tf.ones([5, 5]))];
    accelerator.prepare([first, second]);
    const loss = () => {
      const flat = first.reshape([15]);
      const cut = second.flatten().slice([0], [15]);
      return tf.mul(flat, cut).sum() as tf.Scalar;
    };
    tf.dispose(tf.variableGrads(loss, [first, second]));
    const uses = ['3,5', '5,5', '5,5'];
    expect(log.slice(0, 4)).toEqual([...uses, '3,5'].map((shapes) => `forward ${shapes}`));
    expect(log.slice(4)).toEqual(['3,5', '5,5', '5,5', '3,5'].map((shapes) => `backward ${shapes}`));
    log.length = 0;
    tf.tidy(() => {
      const before = first.reshape([15]);
      first.assign(tf.zeros([3, 5]));
      tf.grad((x) => tf.mul(before, x).sum())(tf.ones([15]));
    });
    expect(log).toEqual([]);
  });

  it('learn when an outermost pass has ended, also by an error', async () => {
    const log: string[] = [];
    await create({
      before: () => void log.push('before'),
      end: () => void log.push('end'),
    });
    const first = tf.variable(tf.ones([3, 5]));
    accelerator.prepare([first]);
    tf.dispose(
      tf.variableGrads(
        () =>
          tf
            .grad((x) => x.square())(first)
            .sum(),
        [first],
      ),
    );
    expect([log.filter((each) => each === 'end').length, log.at(-1)]).toEqual([1, 'end']);
    log.length = 0;
    const failing = () => {
      tf.square(first);
      throw new Error('a mistake');
    };
    expect(() => tf.variableGrads(failing, [first])).toThrow('a mistake');
    expect(log).toEqual(['before', 'end']);
    log.length = 0;
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3] })] });
    accelerator.prepare(model);
    tf.dispose(model.predict(tf.ones([4, 3])));
    expect(log).toEqual(['before', 'end']);
  });
});
