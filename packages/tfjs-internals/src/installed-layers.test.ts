import * as tf from '@tensorflow/tfjs';
import { afterAll, expect, it } from 'vitest';
import {
  isModel,
  nestedLayers,
  tfjsClassName,
  type ActivationObject,
  type BatchNormalizationLayer,
  type Callback,
  type Conv2DLayer,
  type DenseLayer,
  type DropoutLayer,
  type GraphLayer,
  type GraphModel,
  type GraphNode,
  type History,
  type LayerNesting,
  type LayerNormalizationLayer,
  type LayerVariable,
  type LayerWithBuffers,
  type ModelInternals,
  type RecurrentCell,
  type RecurrentLayer,
  type SymbolicTensor,
} from './index.js';
import { describeViews, type Look, type Members } from './testing/views.js';

// Compares the views of tfjs-layers with the installed version.

const LAYER = { call: 'function(2)', stateful: 'boolean', invokeCallHook: 'function(2)' };
const DENSE: Members<DenseLayer> = { ...LAYER, kernel: 'object', bias: 'object', activation: 'object' };
const CONV2D: Members<Conv2DLayer> = {
  ...DENSE,
  dataFormat: 'string',
  kernelSize: 'array',
  strides: 'array',
  padding: 'string',
  dilationRate: 'array',
};
const DROPOUT: Members<DropoutLayer> = { ...LAYER, rate: 'number', noiseShape: 'array', seed: 'number' };
const LAYER_NORMALIZATION: Members<LayerNormalizationLayer> = {
  ...LAYER,
  axis: 'array',
  epsilon: 'number',
  gamma: 'object',
  beta: 'object',
};
const BATCH_NORMALIZATION: Members<BatchNormalizationLayer> = {
  ...LAYER,
  axis: 'number',
  momentum: 'number',
  epsilon: 'number',
  gamma: 'object',
  beta: 'object',
  movingMean: 'object',
  movingVariance: 'object',
};
const RECURRENT: Members<RecurrentLayer> = {
  ...LAYER,
  cell: 'object',
  goBackwards: 'boolean',
  returnSequences: 'boolean',
  returnState: 'boolean',
  states_: 'array',
  resetStates: 'function(2)',
};
const CELL: Members<RecurrentCell> = {
  kernel: 'object',
  recurrentKernel: 'object',
  bias: 'object',
  activation: 'object',
  recurrentActivation: 'object',
  dropout: 'number',
  recurrentDropout: 'number',
  dropoutFunc: 'function(0)',
  // One mask for each gate.
  dropoutMask: 'array',
  recurrentDropoutMask: 'array',
};
const VARIABLE: Members<LayerVariable> = { read: 'function(0)', write: 'function(1)' };
const BUFFERS: Members<LayerWithBuffers> = { _nonTrainableWeights: 'array' };
const ACTIVATION: Members<ActivationObject> = { getClassName: 'function(0)' };
const BIDIRECTIONAL: Pick<Members<LayerNesting>, 'forwardLayer' | 'backwardLayer'> = {
  forwardLayer: 'object',
  backwardLayer: 'object',
};
const TIME_DISTRIBUTED: Pick<Members<LayerNesting>, 'layer'> = { layer: 'object' };

const GRAPH_LAYER: Members<GraphLayer> = {
  name: 'string',
  stateful: 'boolean',
  supportsMasking: 'boolean',
  weights: 'array',
  trainableWeights: 'array',
  calculateLosses: 'function(0)',
  computeMask: 'function(2)',
  apply: 'function(2)',
  getConfig: 'function(0)',
  inboundNodes: 'array',
  outboundNodes: 'array',
};
const GRAPH_NODE: Members<GraphNode> = { outboundLayer: 'object', outputTensors: 'array' };
const SYMBOLIC: Members<SymbolicTensor> = {
  id: 'number',
  name: 'string',
  shape: 'array',
  dtype: 'string',
  inputs: 'array',
  sourceLayer: 'object',
};
const GRAPH_MODEL: Members<GraphModel> = {
  layers: 'array',
  inputs: 'array',
  outputs: 'array',
  call: 'function(2)',
  makeTrainFunction: 'function(0)',
};

const TRAINING = {
  compile: 'function(1)',
  makeTrainFunction: 'function(0)',
  makeTestFunction: 'function(0)',
  predict: 'function(2)',
  predictOnBatch: 'function(1)',
  evaluate: 'function(3)',
  evaluateDataset: 'function(2)',
  fit: 'function(3)',
  fitDataset: 'function(2)',
  fitLoop: 'function(14)',
  testLoop: 'function(5)',
  toJSON: 'function(2)',
};
const MODEL: Members<Omit<ModelInternals, 'model'>> = {
  ...TRAINING,
  layers: 'array',
  weights: 'array',
  metricsNames: 'array',
  optimizer: 'object',
  testFunction: 'function(1)',
  lossFunctions: 'array',
  metricsTensors: 'array',
  isTraining: 'boolean',
  stopTraining_: 'boolean',
};
const SEQUENTIAL: Members<
  Omit<ModelInternals, 'testFunction' | 'stopTraining_' | 'lossFunctions' | 'metricsTensors'>
> = {
  ...TRAINING,
  model: 'object',
  layers: 'array',
  weights: 'array',
  metricsNames: 'array',
  optimizer: 'object',
  isTraining: 'boolean',
};
const WEIGHT: Members<ModelInternals['weights'][number]> = { originalName: 'string', read: 'function(0)' };
const CALLBACK: Members<Callback> = {
  setParams: 'function(1)',
  setModel: 'function(1)',
  onTrainBegin: 'function(1)',
  onTrainEnd: 'function(1)',
  onEpochBegin: 'function(2)',
  onEpochEnd: 'function(2)',
  onBatchBegin: 'function(2)',
  onBatchEnd: 'function(2)',
};
const HISTORY: Members<History> = { epoch: 'array', history: 'object' };

const EXPECTED = {
  Dense: DENSE,
  Conv2D: CONV2D,
  Dropout: DROPOUT,
  LayerNormalization: LAYER_NORMALIZATION,
  BatchNormalization: BATCH_NORMALIZATION,
  LSTM: RECURRENT,
  GRU: RECURRENT,
  LSTMCell: CELL,
  GRUCell: CELL,
  'Dense.kernel': VARIABLE,
  'BatchNormalization (buffers)': BUFFERS,
  'Dense.activation': ACTIVATION,
  Bidirectional: BIDIRECTIONAL,
  TimeDistributed: TIME_DISTRIBUTED,
  Layer: GRAPH_LAYER,
  'Layer.inboundNodes[0]': GRAPH_NODE,
  'LayersModel.outputs[0]': SYMBOLIC,
  Container: GRAPH_MODEL,
  LayersModel: MODEL,
  Sequential: SEQUENTIAL,
  'LayersModel.weights[0]': WEIGHT,
  Callback: CALLBACK,
  History: HISTORY,
};

const [WIDTH, STEPS] = [4, 3];
const norm = tf.layers.batchNormalization();
const dense = tf.layers.dense({ units: WIDTH, activation: 'relu' });
const wrapped = tf.layers.dense({ units: 2 });
const recurrent = (kind: 'lstm' | 'gru') =>
  tf.layers[kind]({
    units: 2,
    stateful: true,
    dropout: 0.5,
    recurrentDropout: 0.5,
    dropoutFunc: () => null!,
  });
const layers = {
  Dense: dense,
  Conv2D: tf.layers.conv2d({ filters: 2, kernelSize: 1 }),
  Dropout: tf.layers.dropout({ rate: 0.5, noiseShape: [1, 1], seed: 1 }),
  LayerNormalization: tf.layers.layerNormalization(),
  BatchNormalization: norm,
  LSTM: recurrent('lstm'),
  GRU: recurrent('gru'),
  Bidirectional: tf.layers.bidirectional({
    layer: tf.layers.lstm({ units: 2 }) as tf.RNN,
    mergeMode: 'concat',
  }),
  TimeDistributed: tf.layers.timeDistributed({ layer: wrapped }),
};

function lookAtLayers(look: Look<typeof EXPECTED>): void {
  const image = tf.ones([1, 2, 2, 1]);
  const rows = tf.ones([2, WIDTH]);
  const sequence = tf.ones([2, STEPS, WIDTH]);
  for (const [name, layer] of Object.entries(layers)) {
    const input = name === 'Conv2D' ? image : layer === dense || /Norm|Dropout/.test(name) ? rows : sequence;
    layer.apply(input);
    look(name as keyof typeof layers, layer);
  }
  look('LSTMCell', (layers.LSTM as unknown as RecurrentLayer).cell);
  look('GRUCell', (layers.GRU as unknown as RecurrentLayer).cell);
  const { kernel, activation } = dense as unknown as DenseLayer;
  look('Dense.kernel', kernel);
  look('Dense.activation', activation);
  look('BatchNormalization (buffers)', norm);
}

async function lookAtModel(look: Look<typeof EXPECTED>): Promise<void> {
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [WIDTH] })] });
  model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  const [x, y] = [tf.ones([2, WIDTH]), tf.ones([2, 1])];
  const history = await model.fit(x, y, { epochs: 1, verbose: 0, validationSplit: 0.5 });
  const trained = (model as unknown as ModelInternals).model!;
  const [layer] = model.layers;
  expect([isModel(model), isModel(trained), isModel(layer)]).toEqual([true, true, false]);
  look('Layer', layer);
  look('Layer.inboundNodes[0]', (layer as unknown as GraphLayer).inboundNodes[0]);
  look('LayersModel.outputs[0]', model.outputs[0]);
  look('Container', trained);
  look('LayersModel', trained);
  look('Sequential', model);
  look('LayersModel.weights[0]', trained.weights[0]);
  look('Callback', tf.Callback.prototype);
  look('History', history);
}

describeViews(EXPECTED, async (look) => {
  await tf.setBackend('cpu');
  lookAtLayers(look);
  await lookAtModel(look);
});

it.each(Object.entries(layers))('%s is recognised by its class', (name, layer) => {
  expect(tfjsClassName(layer)).toBe(name);
  class Sub extends (layer.constructor as new () => object) {
    static readonly className = name;
  }
  expect(tfjsClassName(Object.create(Sub.prototype) as object)).toBeUndefined();
});

it('layers inside layers are found', () => {
  const { forwardLayer, backwardLayer } = layers.Bidirectional as unknown as LayerNesting;
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] });
  const found = [...nestedLayers([layers.Bidirectional, layers.TimeDistributed, model])];
  expect(found).toEqual(
    expect.arrayContaining([forwardLayer as object, backwardLayer as object, wrapped, model.layers[0]!]),
  );
});

afterAll(() => tf.disposeVariables());
