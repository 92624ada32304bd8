import { gpt2 } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { digits } from './digits.js';
import type { Task } from './task.js';
import { characters, VOCABULARY } from './text.js';

/** A network, its data, and how long it is trained. */
export interface Network {
  readonly title: string;
  build(): tf.LayersModel;
  createTask(): Task;
  readonly batch: number;
  readonly steps: number;
  readonly learningRate: number;
  /** Whether its figure is perplexity. The others have accuracy. */
  readonly isText?: boolean;
  /** Layers whose output channels have a number of values that 32 does not divide. */
  readonly notInGroups: readonly string[];
  /** The dense layers, where others are beside them. */
  readonly products?: readonly string[];
}

const SEQUENCE = 128;

export const NETWORKS: Readonly<Record<string, Network>> = {
  convnet: {
    title: 'convnet, digits',
    build: buildConvnet,
    createTask: () => digits([28, 28, 1]),
    ...{ batch: 64, steps: 1000, learningRate: 1e-3, notInGroups: ['conv1'] },
    products: ['dense1', 'dense2'],
  },
  resnet: {
    title: 'ResNet-20, digits',
    build: buildResnet,
    createTask: () => digits([28, 28, 1]),
    ...{
      batch: 64,
      steps: 1000,
      learningRate: 1e-3,
      notInGroups: ['conv1', 'stage1*', 'stage2a-1', 'stage2a-shortcut'],
    },
    products: ['head'],
  },
  lstm: {
    title: 'LSTM, digits row by row',
    build: buildLstm,
    createTask: () => digits([28, 28]),
    ...{ batch: 64, steps: 1000, learningRate: 1e-3, notInGroups: [] },
    products: ['dense1', 'head'],
  },
  gpt: {
    title: 'GPT of characters',
    build: buildGpt,
    createTask: () => characters(SEQUENCE),
    ...{ batch: 16, steps: 1000, learningRate: 1e-3, isText: true, notInGroups: [] },
  },
};

function buildConvnet(): tf.LayersModel {
  return tf.sequential({
    layers: [
      tf.layers.conv2d({
        ...{ name: 'conv1', inputShape: [28, 28, 1] },
        ...{ filters: 32, kernelSize: 5, padding: 'same', activation: 'relu' },
      }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.conv2d({ name: 'conv2', filters: 64, kernelSize: 5, padding: 'same', activation: 'relu' }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.flatten(),
      tf.layers.dense({ name: 'dense1', units: 512, activation: 'relu' }),
      tf.layers.dense({ name: 'dense2', units: 10 }),
    ],
  });
}

/** ResNet-20 of He et al. 2015 (arXiv:1512.03385, section 4.2) for images of one channel. */
function buildResnet(): tf.LayersModel {
  const convolve = (x: tf.SymbolicTensor, name: string, filters: number, kernelSize: number, strides = 1) => {
    const conv = tf.layers.conv2d({
      ...{ name, filters, kernelSize, strides, padding: 'same', useBias: false },
      kernelInitializer: 'heNormal',
    });
    const norm = tf.layers.batchNormalization({ name: `${name}-norm`, momentum: 0.9, epsilon: 1e-5 });
    return norm.apply(conv.apply(x)) as tf.SymbolicTensor;
  };
  const relu = (x: tf.SymbolicTensor) => tf.layers.reLU().apply(x) as tf.SymbolicTensor;
  const inputs = tf.input({ shape: [28, 28, 1] });
  let x = relu(convolve(inputs, 'conv1', 16, 3));
  for (const [stage, filters] of [16, 32, 64].entries()) {
    for (const block of ['a', 'b', 'c']) {
      const name = `stage${stage + 1}${block}`;
      const strides = stage > 0 && block === 'a' ? 2 : 1;
      const inner = relu(convolve(x, `${name}-1`, filters, 3, strides));
      const shortcut = strides > 1 ? convolve(x, `${name}-shortcut`, filters, 1, strides) : x;
      x = relu(
        tf.layers.add().apply([convolve(inner, `${name}-2`, filters, 3), shortcut]) as tf.SymbolicTensor,
      );
    }
  }
  const pooled = tf.layers.globalAveragePooling2d({}).apply(x) as tf.SymbolicTensor;
  const outputs = tf.layers.dense({ name: 'head', units: 10 }).apply(pooled) as tf.SymbolicTensor;
  return tf.model({ inputs, outputs });
}

function buildLstm(): tf.LayersModel {
  const inputs = tf.input({ shape: [28, 28] });
  // Groups of 32 divide the width of what the LSTM reads.
  const wide = tf.layers.dense({ name: 'dense1', units: 128 }).apply(inputs) as tf.SymbolicTensor;
  const lstm = tf.layers.lstm({
    ...{ name: 'lstm', units: 128, recurrentActivation: 'sigmoid' },
    recurrentInitializer: 'glorotUniform',
  });
  const outputs = tf.layers.dense({ name: 'head', units: 10 }).apply(lstm.apply(wide) as tf.SymbolicTensor);
  return tf.model({ inputs, outputs: outputs as tf.SymbolicTensor });
}

function buildGpt(): tf.LayersModel {
  return gpt2({
    ...{ vocab_size: VOCABULARY, n_positions: SEQUENCE, n_embd: 128, n_layer: 4, n_head: 4 },
    ...{ resid_pdrop: 0, embd_pdrop: 0, attn_pdrop: 0 },
  });
}
