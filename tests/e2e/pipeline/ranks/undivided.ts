// Steps beside the pipelined one, on a mesh with the axis pipeline, and losses that are no tensors.
// Returns the code of each error, and whether weights have changed by then.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

type Codes = Record<string, string>;

function refused(found: Codes, name: string, act: () => unknown): void {
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

export default async function undivided(): Promise<Codes> {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 } });
  const found: Codes = {};
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 4, inputShape: [3] }), tf.layers.dense({ units: 1 })],
  });
  const optimizer = tf.train.sgd(0.01);
  accelerator.prepare(model, optimizer);
  const [xs, ys] = [tf.ones([8, 3]), tf.ones([8, 1])];
  const lossOf = () => tf.losses.meanSquaredError(ys, model.apply(xs) as tf.Tensor) as tf.Scalar;
  const values = () => String(model.getWeights().map((weight) => weight.dataSync().join()));
  const before = values();
  const ones = () => {
    const list = model.trainableWeights.map((weight) => weight.read() as tf.Variable);
    return Object.fromEntries(list.map((variable) => [variable.name, tf.onesLike(variable)]));
  };

  refused(found, 'minimize', () => optimizer.minimize(lossOf));
  refused(found, 'computeGradients', () => optimizer.computeGradients(lossOf));
  refused(found, 'variableGrads', () => tf.variableGrads(lossOf));
  refused(found, 'own gradients', () => optimizer.applyGradients(ones()));
  refused(found, 'minimize in noSync', () => accelerator.noSync(() => optimizer.minimize(lossOf)));
  const own = tf.variable(tf.ones([1]));
  accelerator.prepare([own]);
  refused(found, 'a plain variable', () => optimizer.minimize(() => own.square().sum() as tf.Scalar));
  found['weights'] = values() === before && own.dataSync()[0] === 1 ? 'the same' : 'changed';

  const step = accelerator.pipelined(model, (y, prediction) =>
    tf.losses.meanSquaredError(y, prediction as tf.Tensor),
  );
  const first = step(xs, ys).dataSync()[0]!;
  refused(found, 'minimize of stages', () => optimizer.minimize(lossOf));
  refused(found, 'own gradients of stages', () => optimizer.applyGradients(ones()));
  found['steps after all that'] = step(xs, ys).dataSync()[0]! < first ? 'fall' : 'rise';
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return found;
}
