import type { LayerCases } from '../layer-case.js';
import { Scale } from '../scale.js';

/** Every name that `tf.layers.activation` accepts. */
const NAMES = [
  'elu',
  'hardSigmoid',
  'linear',
  'relu',
  'relu6',
  'selu',
  'sigmoid',
  'softmax',
  'softplus',
  'softsign',
  'tanh',
  'swish',
  'mish',
  'gelu',
  'gelu_new',
] as const;

export const ACTIVATIONS: LayerCases = {
  ...Object.fromEntries(
    NAMES.flatMap((activation): [string, LayerCases[string]][] => [
      [`activation ${activation}`, { inputs: [[3, 5]], make: (l) => l.activation({ activation }) }],
      [`dense with ${activation}`, { inputs: [[5]], make: (l) => l.dense({ units: 4, activation }) }],
    ]),
  ),
  elu: { inputs: [[6]], make: (l) => l.elu() },
  reLU: { inputs: [[6]], make: (l) => l.reLU() },
  'reLU with a maximum': { inputs: [[6]], make: (l) => l.reLU({ maxValue: 0.5 }) },
  leakyReLU: { inputs: [[6]], make: (l) => l.leakyReLU({ alpha: 0.1 }) },
  prelu: { inputs: [[3, 4]], make: (l) => l.prelu() },
  'prelu, shared over images': { inputs: [[3, 4, 2]], make: (l) => l.prelu({ sharedAxes: [1, 2] }) },
  softmax: { inputs: [[6]], make: (l) => l.softmax() },
  'softmax of sequences': { inputs: [[3, 4]], make: (l) => l.softmax({ axis: 2 }) },
  // tfjs has no gradient of the comparison in this layer.
  thresholdedReLU: {
    inputs: [[8]],
    scaled: false,
    make: (l) => [l.thresholdedReLU({ theta: 0.3 }), new Scale()],
  },
};
