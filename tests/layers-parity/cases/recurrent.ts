import type * as tf from '@tensorflow/tfjs';
import type { LayerCase, LayerCases } from '../layer-case.js';
import { Scale } from '../scale.js';

const SEQUENCE = [[5, 3]];
const UNITS = 4;

type Recurrent = 'simpleRNN' | 'gru' | 'lstm';

/**
 * Layers after a mask of the padded steps. The layer that scales comes after the mask, because tfjs
 * has no gradient of the operators that create a mask.
 */
function masked(make: (l: typeof tf.layers) => tf.layers.Layer[]): LayerCase {
  return {
    inputs: SEQUENCE,
    holds: 'padded',
    scaled: false,
    make: (l) => [l.masking({ maskValue: 0 }), new Scale(), ...make(l)],
  };
}

/**
 * The ways to use any of the three recurrent layers. `states` is the number of state tensors of the
 * layer.
 */
function variants(kind: Recurrent, states: number): LayerCases {
  const rnn =
    (options: object): LayerCase['make'] =>
    (l) =>
      l[kind]({ units: UNITS, ...options });
  const state = Array.from({ length: states }, () => [UNITS]);
  return {
    [kind]: { inputs: SEQUENCE, make: rnn({}) },
    [`${kind}, sequences`]: { inputs: SEQUENCE, make: rnn({ returnSequences: true }) },
    [`${kind}, with its last state`]: { inputs: SEQUENCE, make: rnn({ returnState: true }) },
    [`${kind}, backwards`]: { inputs: SEQUENCE, make: rnn({ goBackwards: true, returnSequences: true }) },
    [`${kind}, no bias`]: { inputs: SEQUENCE, make: rnn({ useBias: false }) },
    [`${kind}, stateful`]: { inputs: SEQUENCE, fixedBatch: true, make: rnn({ stateful: true }) },
    [`${kind}, given its first state`]: { inputs: [...SEQUENCE, ...state], make: rnn({}) },
    [`${kind}, relu`]: { inputs: SEQUENCE, make: rnn({ activation: 'relu', recurrentInitializer: 'zeros' }) },
    [`${kind}, masked`]: masked((l) => [l[kind]({ units: UNITS })]),
    [`${kind}, masked sequences, twice`]: masked((l) => [
      l[kind]({ units: UNITS, returnSequences: true }),
      l[kind]({ units: 2 }),
    ]),
    [`${kind}, with dropout`]: { inputs: SEQUENCE, make: rnn({ dropout: 0.3, recurrentDropout: 0.2 }) },
  };
}

const lstmImages = { filters: 2, kernelSize: 2, padding: 'same' } as const;

export const RECURRENT: LayerCases = {
  ...variants('simpleRNN', 1),
  ...variants('gru', 1),
  ...variants('lstm', 2),
  'gru, implementation 1, hard sigmoid': {
    inputs: SEQUENCE,
    make: (l) => l.gru({ units: UNITS, implementation: 1, recurrentActivation: 'hardSigmoid' }),
  },
  'lstm, implementation 1, sigmoid, bias of forgetting 0': {
    inputs: SEQUENCE,
    make: (l) =>
      l.lstm({ units: UNITS, implementation: 1, recurrentActivation: 'sigmoid', unitForgetBias: false }),
  },
  'rnn of a cell': {
    inputs: SEQUENCE,
    make: (l) => l.rnn({ cell: l.simpleRNNCell({ units: UNITS }), returnSequences: true }) as tf.layers.Layer,
  },
  'rnn of stacked cells': {
    inputs: SEQUENCE,
    make: (l) => {
      const cells = [l.lstmCell({ units: 3 }), l.gruCell({ units: 2 }), l.simpleRNNCell({ units: 4 })];
      return l.rnn({ cell: l.stackedRNNCells({ cells }), returnSequences: true }) as tf.layers.Layer;
    },
  },
  'rnn of stacked cells, masked': masked((l) => {
    const cells = [l.lstmCell({ units: 3 }), l.lstmCell({ units: 2 })];
    return [l.rnn({ cell: cells as never }) as tf.layers.Layer];
  }),
  convLstm2d: { inputs: [[3, 4, 4, 1]], make: (l) => l.convLstm2d(lstmImages) as tf.layers.Layer },
  'convLstm2d, sequences, valid, strided': {
    inputs: [[3, 5, 5, 2]],
    make: (l) =>
      l.convLstm2d({ filters: 2, kernelSize: 2, strides: 2, returnSequences: true }) as tf.layers.Layer,
  },
  'convLstm2d, channels first': {
    inputs: [[2, 1, 4, 4]],
    make: (l) => l.convLstm2d({ ...lstmImages, dataFormat: 'channelsFirst' }) as tf.layers.Layer,
  },
  'bidirectional lstm': {
    inputs: SEQUENCE,
    make: (l) => l.bidirectional({ layer: l.lstm({ units: 3 }) as tf.RNN, mergeMode: 'concat' }),
  },
  ...Object.fromEntries(
    (['sum', 'mul', 'ave', 'concat'] as const).map((mergeMode) => [
      `bidirectional gru, sequences, ${mergeMode}`,
      {
        inputs: SEQUENCE,
        make: (l: typeof tf.layers) =>
          l.bidirectional({ layer: l.gru({ units: 3, returnSequences: true }) as tf.RNN, mergeMode }),
      },
    ]),
  ),
  'timeDistributed dense': {
    inputs: SEQUENCE,
    make: (l) => l.timeDistributed({ layer: l.dense({ units: 2, activation: 'tanh' }) }),
  },
  'timeDistributed convolution': {
    inputs: [[3, 5, 5, 1]],
    make: (l) => l.timeDistributed({ layer: l.conv2d({ filters: 2, kernelSize: 3 }) }),
  },
};
