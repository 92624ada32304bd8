// An LSTM reads a digit line by line. The program is plain tfjs with `compile` and `fit`. `prepare`
// alone makes it train on all processes, with logs and early stopping of all of them together.
//   npx acc launch -n 2 examples/rnn/train.ts [--epochs 8]
import { Accelerator, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { readNumbers } from '../arguments.js';
import { readDigits } from '../digits.js';

const { epochs, rows } = readNumbers({ epochs: 8, rows: 8640 });
const accelerator = await Accelerator.create({ dataLoader: { splitBatches: true } });

setSeed(7);
const model = tf.sequential({
  layers: [
    tf.layers.reshape({ inputShape: [28, 28, 1], targetShape: [28, 28] }),
    tf.layers.lstm({ units: 48, recurrentInitializer: 'glorotUniform' }),
    tf.layers.dense({ units: 10, activation: 'softmax' }),
  ],
});
model.compile({
  optimizer: tf.train.adam(5e-3),
  loss: 'categoricalCrossentropy',
  metrics: ['accuracy'],
});
accelerator.prepare(model);

const { train, heldBack } = readDigits(rows);
const history = await model.fit(train.xs, tf.oneHot(train.ys, 10), {
  batchSize: 96,
  epochs,
  validationData: [heldBack.xs, tf.oneHot(heldBack.ys, 10)],
  verbose: 0,
  callbacks: tf.callbacks.earlyStopping({ monitor: 'val_loss', patience: 1 }),
});
const { loss, val_loss: testLoss, val_acc: accuracy } = history.history as Record<string, number[]>;
loss!.forEach((_, epoch) =>
  accelerator.print(
    `epoch ${epoch + 1}: loss ${loss![epoch]!.toFixed(6)}, ` +
      `held-back digits: loss ${testLoss![epoch]!.toFixed(6)}, accuracy ${accuracy![epoch]!.toFixed(4)}`,
  ),
);
await accelerator.endTraining();
