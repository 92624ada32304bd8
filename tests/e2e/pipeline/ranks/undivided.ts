// Steps beside the pipelined one, on a mesh with the axis pipeline, and losses that are no tensors.
// Reports the code of each error, and whether weights have changed by then.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 } });
const found: Record<string, string> = {};

function refused(name: string, act: () => unknown): void {
  try {
    act();
    found[name] = 'none';
  } catch (error) {
    const { code, message, help } = error as { code?: string; message: string; help?: string };
    found[name] = [code, message.includes('no effect') && 'no effect', help?.includes('pipelined(') && 'next']
      .filter(Boolean)
      .join(', ');
  }
}

const model = tf.sequential({
  layers: [tf.layers.dense({ units: 4, inputShape: [3] }), tf.layers.dense({ units: 1 })],
});
const optimizer = tf.train.sgd(0.01);
accelerator.prepare(model, optimizer);
const [xs, ys] = [tf.ones([8, 3]), tf.ones([8, 1])];
const lossOf = () => tf.losses.meanSquaredError(ys, model.apply(xs) as tf.Tensor) as tf.Scalar;
const before = model.getWeights().map((weight) => weight.dataSync().join());
const ones = () => {
  const list = model.trainableWeights.map((weight) => weight.read() as tf.Variable);
  return Object.fromEntries(list.map((variable) => [variable.name, tf.onesLike(variable)]));
};

refused('minimize', () => optimizer.minimize(lossOf));
refused('computeGradients', () => optimizer.computeGradients(lossOf));
refused('variableGrads', () => tf.variableGrads(lossOf));
refused('own gradients', () => optimizer.applyGradients(ones()));
refused('minimize in noSync', () => accelerator.noSync(() => optimizer.minimize(lossOf)));
const own = tf.variable(tf.ones([1]));
accelerator.prepare([own]);
refused('a plain variable', () => optimizer.minimize(() => own.square().sum() as tf.Scalar));
const after = model.getWeights().map((weight) => weight.dataSync().join());
found['weights'] = after.join() === before.join() && own.dataSync()[0] === 1 ? 'the same' : 'changed';

const step = accelerator.pipelined(model, (y, prediction) =>
  tf.losses.meanSquaredError(y, prediction as tf.Tensor),
);
const first = step(xs, ys).dataSync()[0]!;
refused('minimize of stages', () => optimizer.minimize(lossOf));
refused('own gradients of stages', () => optimizer.applyGradients(ones()));
found['steps after all that'] = step(xs, ys).dataSync()[0]! < first ? 'fall' : 'rise';
reportResult(found);
