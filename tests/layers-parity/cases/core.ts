import * as tf from '@tensorflow/tfjs';
import type { LayerCases } from '../layer-case.js';
import { Scale } from '../scale.js';

const VOCABULARY = 7;

export const CORE: LayerCases = {
  dense: { inputs: [[5]], make: (l) => l.dense({ units: 3 }) },
  'dense, of sequences': { inputs: [[4, 3]], make: (l) => l.dense({ units: 2, activation: 'tanh' }) },
  'dense, regularized and constrained': {
    inputs: [[5]],
    make: (l) =>
      l.dense({
        units: 3,
        kernelRegularizer: 'l1l2',
        biasRegularizer: tf.regularizers.l2(),
        kernelConstraint: 'maxNorm',
        biasConstraint: 'nonNeg',
      }),
  },
  'a batch norm between dense layers without bias': {
    inputs: [[5]],
    make: (l) => [
      l.dense({ units: 6, useBias: false, activation: 'relu' }),
      l.batchNormalization(),
      l.dense({ units: 2 }),
    ],
  },
  embedding: {
    inputs: [[6]],
    holds: 'ids',
    make: (l) => l.embedding({ inputDim: VOCABULARY, outputDim: 3 }),
  },
  'embedding, regularized and constrained': {
    inputs: [[6]],
    holds: 'ids',
    make: (l) =>
      l.embedding({
        inputDim: VOCABULARY,
        outputDim: 3,
        embeddingsRegularizer: tf.regularizers.l1(),
        embeddingsConstraint: 'unitNorm',
      }),
  },
  'embedding, masked, into a lstm': {
    inputs: [[6]],
    holds: 'ids',
    make: (l) => [
      l.embedding({ inputDim: VOCABULARY, outputDim: 3, maskZero: true }),
      l.lstm({ units: 4 }),
      l.dense({ units: 2 }),
    ],
  },
  flatten: { inputs: [[2, 3, 2]], make: (l) => l.flatten() },
  'flatten, channels first': {
    inputs: [[2, 3, 4]],
    make: (l) => l.flatten({ dataFormat: 'channelsFirst' }),
  },
  reshape: { inputs: [[2, 6]], make: (l) => l.reshape({ targetShape: [3, 4] }) },
  permute: { inputs: [[2, 3, 4]], make: (l) => l.permute({ dims: [3, 1, 2] }) },
  repeatVector: { inputs: [[3]], make: (l) => l.repeatVector({ n: 4 }) },
  // tfjs has no gradient of the operators that create a mask, so the layer that scales comes after
  // the mask.
  masking: { inputs: [[4, 3]], holds: 'padded', scaled: false, make: (l) => [l.masking(), new Scale()] },
  batchNormalization: { inputs: [[5]], make: (l) => l.batchNormalization() },
  'batchNormalization of images': { inputs: [[3, 4, 2]], make: (l) => l.batchNormalization() },
  // tfjs's own layer throws on every backend without scale or offset, and in training on an axis
  // other than the last.
  'batchNormalization, another momentum and epsilon': {
    inputs: [[4, 3]],
    make: (l) => l.batchNormalization({ momentum: 0.9, epsilon: 1e-4 }),
  },
  'batchNormalization that is not trained': {
    inputs: [[4, 3]],
    make: (l) => l.batchNormalization({ trainable: false }),
  },
  layerNormalization: { inputs: [[5]], make: (l) => l.layerNormalization() },
  'layerNormalization of sequences': { inputs: [[4, 6]], make: (l) => l.layerNormalization() },
  'layerNormalization over two axes': {
    inputs: [[3, 4, 2]],
    make: (l) => l.layerNormalization({ axis: [2, 3] }),
  },
  'layerNormalization, another epsilon': {
    inputs: [[6]],
    make: (l) => l.layerNormalization({ epsilon: 1e-5 }),
  },
};
