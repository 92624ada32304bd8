import * as tf from '@tensorflow/tfjs';
import type { Accelerator } from '@acc/core';
import { numbers } from '../numbers.js';

const SIZE = 24;

interface Found {
  /** The gradients of the two variables. */
  readonly grads: Float32Array[];
  /** What the program kept of its own gradients, read after the sum over ranks. */
  readonly kept: Float32Array[];
}

/** A function of a and b whose gradient is `gradient(dy)` for both. */
type Gradient = (dy: tf.Tensor, local: tf.Tensor) => [tf.Tensor, tf.Tensor];

/** Gradients that share memory with each other, and with what the program keeps. */
export function aliases(accelerator: Accelerator): Record<string, Found> {
  const rank = accelerator.processIndex;
  const kept: tf.Tensor[] = [];
  const keep = (x: tf.Tensor) => {
    kept.push(tf.keep(x));
    return x;
  };
  const gradients: Record<string, Gradient> = {
    'one tensor for two variables': (dy, local) => {
      const both = local.mul(dy);
      return [both, both];
    },
    'a clone each': (dy, local) => {
      const both = local.mul(dy);
      return [both.clone(), both.clone()];
    },
    'kept itself': (dy, local) => {
      const both = keep(local.mul(dy));
      return [both, both];
    },
    'kept as a clone': (dy, local) => {
      const [a, b] = [local.mul(dy), local.mul(dy)];
      keep(a.clone());
      keep(b.clone());
      return [a, b];
    },
    'kept in another shape': (dy, local) => {
      const flat = local.mul(dy).flatten();
      keep(flat);
      return [flat.reshape(local.shape), flat.reshape(local.shape)];
    },
    'parts of one tensor': (dy, local) => {
      const parts = tf.concat([local, local]).mul(dy);
      keep(parts);
      return tf.split(parts, 2) as [tf.Tensor, tf.Tensor];
    },
  };
  const found: Record<string, Found> = {};
  for (const [name, gradient] of Object.entries(gradients)) {
    const [a, b] = ['a', 'b'].map((letter) =>
      tf.tidy(() => tf.variable(tf.zeros([6, 4]), true, `${tf.getBackend()}/${name}/${letter}`)),
    ) as [tf.Variable, tf.Variable];
    accelerator.prepare([a, b]);
    kept.length = 0;
    tf.tidy(() => {
      const local = tf.tensor(numbers(rank, 0, 0, SIZE), [6, 4]);
      const f = tf.customGrad((x, y) => ({
        value: tf.add(x as tf.Tensor, y as tf.Tensor).sum(),
        gradFunc: (dy) => gradient(dy as tf.Tensor, local),
      }));
      const { grads } = accelerator.backward(() => f(a, b) as tf.Scalar, [a, b]);
      found[name] = {
        grads: [a, b].map((variable) => grads[variable.name]!.dataSync<'float32'>()),
        kept: kept.map((x) => x.dataSync<'float32'>()),
      };
    });
    tf.dispose([a, b, ...kept]);
  }
  // As users write it: both sums' gradients are the seed, spread over the variables.
  const [a, b] = ['a', 'b'].map((letter) =>
    tf.tidy(() => tf.variable(tf.zeros([6, 4]), true, `${tf.getBackend()}/sums/${letter}`)),
  ) as [tf.Variable, tf.Variable];
  accelerator.prepare([a, b]);
  tf.tidy(() => {
    const loss = () =>
      a
        .sum()
        .add(b.reshape([-1]).sum())
        .mul(rank + 1) as tf.Scalar;
    const { grads } = accelerator.backward(loss, [a, b]);
    found['sums'] = { grads: [a, b].map(({ name }) => grads[name]!.dataSync<'float32'>()), kept: [] };
  });
  tf.dispose([a, b]);
  return found;
}
