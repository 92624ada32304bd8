import * as tf from '@tensorflow/tfjs';
import type { Accelerator } from '@acc/core';
import { numbers } from '../numbers.js';

const SHAPE = [6, 4];
const SIZE = 24;

interface Found {
  /** The gradients of the two variables. */
  readonly grads: Float32Array[];
  /** The gradients that the program kept, read after the sum over ranks. */
  readonly kept: Float32Array[];
}

/** Returns the gradients of two variables, both `local`. It may keep some of them. */
type Gradient = (local: tf.Tensor, keep: (x: tf.Tensor) => void) => [tf.Tensor, tf.Tensor];

const GRADIENTS: Readonly<Record<string, Gradient>> = {
  'one tensor for two variables': (local) => [local, local],
  'a clone each': (local) => [local.clone(), local.clone()],
  'kept itself': (local, keep) => {
    keep(local);
    return [local, local];
  },
  'kept as a clone': (local, keep) => {
    const other = local.mul(1);
    keep(local.clone());
    keep(other.clone());
    return [local, other];
  },
  'kept in another shape': (local, keep) => {
    const flat = local.flatten();
    keep(flat);
    return [flat.reshape(SHAPE), flat.reshape(SHAPE)];
  },
  'parts of one tensor': (local, keep) => {
    const parts = tf.concat([local, local]);
    keep(parts);
    return tf.split(parts, 2) as [tf.Tensor, tf.Tensor];
  },
};

/** Gradients that share memory with each other, and with tensors that the program keeps. */
export function aliases(accelerator: Accelerator): Record<string, Found> {
  const found: Record<string, Found> = {};
  for (const [name, gradient] of Object.entries(GRADIENTS)) {
    const kept: tf.Tensor[] = [];
    const numbersOfRank = numbers(accelerator.processIndex, 0, 0, SIZE);
    const f = tf.customGrad((x, y) => ({
      value: tf.add(x as tf.Tensor, y as tf.Tensor).sum(),
      gradFunc: (dy) =>
        gradient(tf.tensor(numbersOfRank, SHAPE).mul(dy as tf.Tensor), (x) => kept.push(tf.keep(x))),
    }));
    const grads = gradientsOf(accelerator, (a, b) => f(a, b) as tf.Scalar);
    found[name] = { grads, kept: kept.map((x) => x.dataSync<'float32'>()) };
    tf.dispose(kept);
  }
  // A usual program: the gradients of both sums are the seed, broadcast to the variables.
  const factor = accelerator.processIndex + 1;
  const sums = gradientsOf(
    accelerator,
    (a, b) =>
      a
        .sum()
        .add(b.reshape([-1]).sum())
        .mul(factor) as tf.Scalar,
  );
  return { ...found, sums: { grads: sums, kept: [] } };
}

function gradientsOf(
  accelerator: Accelerator,
  loss: (a: tf.Tensor, b: tf.Tensor) => tf.Scalar,
): Float32Array[] {
  const variables = tf.tidy(() => [tf.variable(tf.zeros(SHAPE)), tf.variable(tf.zeros(SHAPE))]);
  accelerator.prepare(variables);
  const [a, b] = variables as [tf.Variable, tf.Variable];
  const read = tf.tidy(() => {
    const { grads } = accelerator.backward(() => loss(a, b), variables);
    return variables.map(({ name }) => grads[name]!.dataSync<'float32'>());
  });
  tf.dispose(variables);
  return read;
}
