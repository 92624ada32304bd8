// A process that writes, or reads under a limit of its memory, a model; see limited.test.ts.
import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, initEmptyWeights, loadCheckpointAndDispatch } from '@acc/core';

const [mode, folder, offloadFolder] = process.argv.slice(2);
const WIDTH = 1024;
const LAYERS = 40;
const MIB = 2 ** 20;

const createModel = () =>
  tf.sequential({
    layers: Array.from({ length: LAYERS }, (_, i) =>
      tf.layers.dense({
        name: `layer${i}`,
        units: WIDTH,
        inputShape: [WIDTH],
        useBias: false,
        kernelInitializer: tf.initializers.randomUniform({ minval: -0.05, maxval: 0.05, seed: i + 1 }),
      }),
    ),
  });

const accelerator = await Accelerator.create({ engine: 'acc' });
const predict = (model) =>
  tf.tidy(() => {
    const x = tf.sin(tf.range(0, 2 * WIDTH)).reshape([2, WIDTH]);
    return [...model.predict(x).dataSync()];
  });

const status = () => readFileSync('/proc/self/status', 'utf8');

const modes = {
  async write() {
    const small = tf.sequential({ layers: [tf.layers.dense({ units: 8, inputShape: [2 * WIDTH] })] });
    tf.tidy(() => small.predict(tf.ones([1, 2 * WIDTH])).dataSync());
    const base = 1024 * Number(/^VmData:\s+(\d+)/m.exec(status())[1]);
    const model = createModel();
    await accelerator.saveModel(model, folder);
    return { base, weights: 4 * model.countParams(), predicted: predict(model) };
  },
  async plain() {
    const model = initEmptyWeights(createModel);
    await accelerator.loadModel(model, folder);
    return { predicted: predict(model) };
  },
  async dispatched() {
    const model = initEmptyWeights(createModel);
    await loadCheckpointAndDispatch(model, folder, { maxMemory: 24 * MIB, offloadFolder });
    return { predicted: predict(model) };
  },
  async inferred() {
    const model = initEmptyWeights(createModel);
    await loadCheckpointAndDispatch(model, folder, { offloadFolder });
    return { predicted: predict(model) };
  },
};

console.log(JSON.stringify(await modes[mode]()));
