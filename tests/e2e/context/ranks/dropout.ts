// Draws masks of dropout after `setSeed`, before and after an Accelerator is created. The argument is the
// mesh, as JSON. Reports masks as strings of bits.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, setSeed } from '@acc/core';
import { dropout } from '@acc/kernels';
import { reportResult } from '@acc/testkit';

export interface Drawn {
  /** Of a layer of tfjs, and of the function of acc, in two steps each. */
  readonly early: readonly string[];
  readonly late: readonly string[];
  /** The same seed again. */
  readonly again: readonly string[];
  /** What `Math.random` draws. */
  readonly plain: number;
}

const accOptions = { mesh: JSON.parse(process.argv[2]!) as object };

setSeed(7);
const accelerator = await Accelerator.create(accOptions);
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
await accelerator.endTraining();
reportResult({ early, late, again, plain } satisfies Drawn);
