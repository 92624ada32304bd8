import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { transformerBlock } from '../index.js';

// The backend `acc` also replaces gradients of tfjs. Here it is not registered.

it('a block with shared heads has gradients on the backend cpu of tfjs alone', async () => {
  await tf.setBackend('cpu');
  const block = transformerBlock({ heads: 4, kvHeads: 2, causal: true, rotary: true });
  const x = tf.randomNormal([1, 3, 8], 0, 1, 'float32', 1);
  block.apply(x);
  const variables = block.trainableWeights.map((weight) => weight.read() as tf.Variable);
  const { grads } = tf.variableGrads(() => (block.apply(x) as tf.Tensor).square().sum(), variables);
  expect(Object.keys(grads)).toHaveLength(variables.length);
  // Each is a difference quotient.
  for (const variable of variables) {
    const values = variable.dataSync().slice();
    const loss = (delta: number): number =>
      tf.tidy(() => {
        variable.assign(tf.tensor(values.with(0, values[0]! + delta), variable.shape));
        return (block.apply(x) as tf.Tensor).square().sum().dataSync()[0]!;
      });
    const slope = (loss(1e-2) - loss(-1e-2)) / 2e-2;
    loss(0);
    const size = Math.max(1, Math.abs(slope));
    expect(Math.abs(grads[variable.name]!.dataSync()[0]! - slope) / size).toBeLessThan(0.01);
  }
});
