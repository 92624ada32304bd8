// Draws masks of dropout after `setSeed`, before and after an Accelerator is created. The argument is the
// mesh. Returns masks as strings of bits.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, setSeed, type MeshOptions } from '@acc/core';
import { dropout } from '@acc/kernels';

export interface Drawn {
  /** Of a layer of tfjs, and of the function of acc, in two steps each. */
  readonly early: readonly string[];
  readonly late: readonly string[];
  /** The same seed again. */
  readonly again: readonly string[];
  /** The number that `Math.random` draws. */
  readonly plain: number;
}

export default async function draw(mesh: MeshOptions): Promise<Drawn> {
  setSeed(7);
  const accelerator = await Accelerator.create({ mesh });
  const input = tf.input({ shape: [null, 8] });
  const outputs = tf.layers.dropout({ rate: 0.5 }).apply(input) as tf.SymbolicTensor;
  const model = tf.model({ inputs: input, outputs });
  accelerator.prepare(model);

  const bits = (x: tf.Tensor) => Array.from(x.dataSync(), (value) => Number(value !== 0)).join('');
  const masks = () =>
    tf.tidy(() =>
      [0, 1].flatMap(() => {
        const ones = tf.ones([1, 8, 8]);
        return [bits(model.apply(ones, { training: true }) as tf.Tensor), bits(dropout(ones, 0.5))];
      }),
    );
  const early = masks();
  setSeed(8);
  const late = masks();
  setSeed(8);
  const [again, plain] = [masks(), Math.random()];
  accelerator.freeMemory(model);
  return { early, late, again, plain };
}
