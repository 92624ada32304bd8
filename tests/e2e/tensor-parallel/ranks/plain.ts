// Trains a plain program with cut variables, and tries what is refused. The argument is the size of the
// axis tensor. Reports losses, whole weights, what a step sends, and codes.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, cut, isAccError, lamb, adafactor, parallelize, setSeed } from '@acc/core';
import { dropout } from '@acc/kernels';
import { reportResult } from '@acc/testkit';
import { multiHeadAttention } from '@acc/transformer';

export interface Result {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  readonly lamb: readonly number[][];
  readonly sent: Record<string, { calls: number }>;
  readonly clones: Record<'before' | 'kept' | 'after' | 'assigned' | 'expected', readonly number[]>;
  /** The elements that dropout leaves of ones `[12, 12]` that are cut along the last dim. */
  readonly mask: readonly number[];
  /** Whether tfjs lists cut variables that have the names of disposed ones, and still does in the end. */
  readonly listed: readonly boolean[];
  /** By what was tried. */
  readonly codes: Record<string, string>;
  /** In the order of `codes`. */
  readonly messages: readonly string[];
}

const tensor = Number(process.argv[2]);
const options = tensor > 1 ? { mesh: { tensor } } : {};
const wave = <R extends tf.Rank>(shape: tf.ShapeMap[R], step: number, name?: string) =>
  tf.tidy(() => {
    const count = tf.util.sizeFromShape(shape);
    const values = tf.mul(tf.sin(tf.mul(tf.range(1, 1 + count), step)), 0.5);
    return tf.variable(tf.reshape(values, shape), true, name) as tf.Variable<R>;
  });
const x = wave<tf.Rank.R2>([12, 6], 1.1);
const y = wave<tf.Rank.R2>([12, 5], 2.3);
const axis = 'tensor';

function network(prefix: string) {
  const [w1, b1] = [
    wave<tf.Rank.R2>([6, 12], 0.7, `${prefix}w1`),
    wave<tf.Rank.R1>([12], 0.3, `${prefix}b1`),
  ];
  const [w2, b2] = [wave<tf.Rank.R2>([12, 5], 0.9, `${prefix}w2`), wave<tf.Rank.R1>([5], 0.4, `${prefix}b2`)];
  cut(w1, { dim: 1, axis });
  cut(b1, { dim: -1, axis });
  cut(w2, { dim: 0, axis });
  const hidden = () => tf.tanh(tf.add(tf.matMul(x, w1), b1)) as tf.Tensor2D;
  const loss = () => tf.losses.meanSquaredError(y, tf.add(tf.matMul(hidden(), w2), b2)) as tf.Scalar;
  return { w1, variables: [w1, b1, w2, b2], hidden, loss };
}

const read = (variables: readonly tf.Variable[]) => variables.map((each) => Array.from(each.dataSync()));

const accelerator = await Accelerator.create(options);
const { w1, variables, hidden, loss } = network('a');
accelerator.prepare(variables);
const optimizer = accelerator.prepare(tf.train.momentum(0.1, 0.9));
const losses: number[] = [];
let sent: Result['sent'] = {};
for (let step = 0; step < 20; step++) {
  accelerator.communication();
  const value = optimizer.minimize(loss, true, variables)!;
  sent = accelerator.communication();
  losses.push(value.dataSync()[0]!);
  value.dispose();
}
const weights = read(variables);

const before = Array.from(w1.dataSync());
const copy = w1.clone();
optimizer.minimize(loss, false, variables);
const [kept, after] = [Array.from(copy.dataSync()), Array.from(w1.dataSync())];
tf.tidy(() => w1.assign(tf.mul(copy, 2)));
const [assigned, expected] = [Array.from(w1.dataSync()), before.map((value) => Math.fround(2 * value))];

setSeed(11);
const mask = tf.tidy(() => Array.from(dropout(tf.onesLike(hidden()), 0.5).dataSync()));

const messages: string[] = [];
async function codeOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    if (!isAccError(error)) throw error;
    messages.push(error.message);
    return error.code;
  }
  return 'none';
}
const codes: Record<string, string> = {};
codes['a kernel without a rule'] = await codeOf(() => tf.tidy(() => tf.argMin(hidden(), 1)));
codes['rows that a cut table does not have'] = await codeOf(() =>
  tf.tidy(() => tf.gather(variables[2]!, tf.tensor1d([3, 12], 'int32'))),
);
codes['two layers by columns'] = await codeOf(() => {
  const layers = [
    tf.layers.dense({ units: 6, inputShape: [6], name: 'wide' }),
    tf.layers.dense({ units: 6, name: 'wider' }),
  ];
  const model = tf.sequential({ layers });
  accelerator.prepare(parallelize(model, { 'wide*': 'column' }));
  tf.tidy(() => void model.predict(tf.ones([2, 6])));
});
codes['an optimizer that needs rows and columns'] = await codeOf(() => {
  const whole = accelerator.prepare(adafactor());
  whole.minimize(loss, false, variables);
});
codes['a size that does not divide'] = await codeOf(() => {
  accelerator.prepare([cut(wave([3, 3], 1, 'odd'), { dim: 0, axis })]);
});
codes['heads that do not divide'] = await codeOf(() => {
  const attention = multiHeadAttention({ heads: 3, name: 'attn' });
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 6, inputShape: [4, 6] }), attention] });
  accelerator.prepare(parallelize(model, { 'attn/q_proj': 'column' }));
});
if (tensor > 1) {
  codes['plans that differ'] = await codeOf(() => {
    const variable = wave([4, 4], 1, 'differs');
    accelerator.prepare([accelerator.processIndex === 0 ? cut(variable, { dim: 0, axis }) : variable]);
  });
}
accelerator.freeMemory();

const other = await Accelerator.create(options);
if (tensor > 1) {
  codes['an axis that cuts nothing'] = await codeOf(() => {
    const whole = other.prepare([wave([2, 2], 1, 'whole')]);
    tf.train.sgd(0.1).minimize(() => tf.sum(whole[0]!), false, whole);
  });
}
const second = network('b');
other.prepare(second.variables);
const byNorms = other.prepare(lamb({ learningRate: 0.02 }));
for (let step = 0; step < 5; step++) byNorms.minimize(second.loss, false, second.variables);
const ofLamb = read(second.variables);
tf.dispose(second.variables);
const third = network('b');
const areListed = () => third.variables.every((each) => tf.engine().registeredVariables[each.name] === each);
other.prepare(third.variables);
const listed = [areListed()];
other.freeMemory();
listed.push(areListed());
tf.disposeVariables();

await tf.setBackend('cpu');
codes['the backend cpu'] = await codeOf(() => Accelerator.create({ ...options, engine: 'tfjs' }));
const clones = { before, kept, after, assigned, expected };
reportResult({ losses, weights, lamb: ofLamb, sent, clones, mask, listed, codes, messages });
