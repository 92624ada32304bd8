// One process without a launcher. Without libtorch it trains on tfjs's own backend. Argument:
// options as JSON.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

// A program may have tensors before it creates the Accelerator, on tfjs's backend `cpu`.
const x = tf.tensor2d([[1, 2]]);
const accelerator = await Accelerator.create(JSON.parse(process.argv[2] ?? '{}') as AcceleratorOptions);
const [model, optimizer] = accelerator.prepare(
  tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2], kernelInitializer: 'ones' })] }),
  tf.train.sgd(0.1),
);
const loss = () => (model.predict(x) as tf.Tensor).square().mean() as tf.Scalar;
const losses = [0, 1, 2].map(() => tf.tidy(() => optimizer.minimize(loss, true)!.dataSync()[0]!));
reportResult({
  backend: tf.getBackend(),
  name: accelerator.backendName,
  size: accelerator.numProcesses,
  losses,
});
