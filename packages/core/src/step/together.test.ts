import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import type { Plugin, Strategy } from '@acc/contract';
import { Accelerator } from '../accelerator.js';
import { singleStrategy } from '../single-strategy/single-strategy.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

const events: string[] = [];

/** Notes what it gets, and when. */
function noting(startsAtFinish: boolean): Strategy {
  const single = singleStrategy();
  return {
    ...single,
    name: 'noting',
    traits: { parameters: 'replicated', startsAtFinish },
    beginReduction(variables) {
      const reduction = single.beginReduction(variables);
      return {
        ready(index, grad) {
          events.push(`ready ${variables[index]!.name}`);
          reduction.ready(index, grad);
        },
        finish: () => (events.push('finish'), reduction.finish()),
      };
    },
  };
}

const doubled: Plugin = { name: 'doubled', gradient: (grad) => tf.mul(grad, 2) };

/** Notes when its gradient is computed. */
const passing = (name: string) =>
  tf.customGrad((x) => ({
    value: (x as tf.Tensor).clone(),
    gradFunc: (dy: tf.Tensor) => (events.push(`backward ${name}`), dy.clone()),
  }));

/** Trains three plain steps, or replays after them. Returns the weights and what happened in the last one. */
async function train(startsAtFinish: boolean, isCompiled: boolean) {
  const strategy = noting(startsAtFinish);
  accelerator = await Accelerator.create({ engine: 'acc', strategy, plugins: [doubled] });
  const [a, b] = ['a', 'b'].map((name) => tf.variable(tf.tensor1d([1, 2, 3]), true, name));
  const [, optimizer] = accelerator.prepare([a!, b!], tf.train.sgd(0.01));
  const [first, second] = [passing('first'), passing('second')];
  const lossOf = (x: tf.Tensor) => tf.sum(tf.square(second(tf.mul(first(tf.mul(x, a!)), b!)))) as tf.Scalar;
  const plain = (x: tf.Tensor) => optimizer.minimize(() => lossOf(x), true)!;
  const compiled = accelerator.compile(plain);
  const step = isCompiled ? compiled : plain;
  const x = tf.tensor1d([0.1, 0.2, 0.3]);
  let left = 0;
  for (let i = 0; i < 6; i++) {
    events.length = 0;
    step(x).dispose();
    if (i === 4) left = tf.memory().numTensors;
  }
  expect(tf.memory().numTensors).toBe(left);
  expect(compiled.replays).toBe(isCompiled ? 3 : 0);
  const values = [a!, b!].map((variable) => [...variable.dataSync()]);
  accelerator.freeMemory();
  tf.dispose([a!, b!, x]);
  return { values, events: [...events] };
}

it('gives all gradients at the end to a strategy that starts nothing before', async () => {
  const each = await train(false, false);
  expect(each.events).toEqual(['backward second', 'ready b', 'backward first', 'ready a', 'finish']);
  const together = await train(true, false);
  expect(together.events).toEqual(['backward second', 'backward first', 'ready b', 'ready a', 'finish']);
  expect(together.values).toEqual(each.values);
});

it('replays do the same', async () => {
  const plain = await train(true, false);
  const replayed = await train(true, true);
  expect(replayed).toEqual({ values: plain.values, events: ['ready b', 'ready a', 'finish'] });
});
