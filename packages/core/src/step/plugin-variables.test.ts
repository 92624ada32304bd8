import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import type { Plugin } from '@acc/contract';
import { expectClose } from '@acc/testkit';
import { Accelerator } from '../accelerator.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

it('plugins get the variable of each gradient', async () => {
  const seen: Record<'gradient' | 'ready', Record<string, number[]>> = { gradient: {}, ready: {} };
  const watcher: Plugin = {
    name: 'watcher',
    gradient(grad, variable) {
      seen.gradient[variable.name] = [...grad.dataSync()];
      return grad;
    },
    ready(grad, pass, variable) {
      expect(pass.variables).toContain(variable);
      seen.ready[variable.name] = [...grad.dataSync()];
    },
  };
  accelerator = await Accelerator.create({ plugins: [watcher] });
  const [a, b] = [tf.variable(tf.tensor1d([1, 2])), tf.variable(tf.scalar(3))];
  const loss = () => tf.sum(tf.mul(tf.square(a), b)).asScalar();
  const expected = { [a.name]: [6, 12], [b.name]: [5] };
  const optimizer = accelerator.prepare(tf.train.sgd(0));
  optimizer.minimize(loss, false, [a, b] as tf.Variable[]);
  for (const found of [seen.gradient, seen.ready]) {
    expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, values] of Object.entries(expected)) expectClose(found[name]!, values);
  }
  tf.dispose([a, b]);
});
