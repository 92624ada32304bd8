import * as tf from '@tensorflow/tfjs';
import { afterAll, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { isGraph, requirePositions } from './require-positions.js';

type Shape = (number | null)[];
type Layer = ReturnType<typeof tf.layers.dense>;
type Use = readonly [name: string, shape: Shape, layer: () => object];

const { layers } = tf;
const [TOKENS, SEQUENCE, IMAGES, VIDEOS]: Shape[] = [[null], [null, 6], [null, 4, 3], [null, 4, 4, 3]];
const lstm = () => layers.lstm({ units: 2, returnSequences: true, recurrentInitializer: 'zeros' });
const cell = () => layers.gruCell({ units: 2, recurrentInitializer: 'zeros' });
const wide = { filters: 2, kernelSize: 3, padding: 'same' } as const;
const narrow = { filters: 2, kernelSize: 1 } as const;
/** Kernels that are wide along other dims only. */
const across = { filters: 2, kernelSize: [1, 3] as number[], padding: 'same' as const };
const first = { dataFormat: 'channelsFirst' } as const;

const REFUSED: readonly Use[] = [
  ['LSTM', SEQUENCE!, lstm],
  ['GRU', SEQUENCE!, () => layers.gru({ units: 2, recurrentInitializer: 'zeros' })],
  ['SimpleRNN', SEQUENCE!, () => layers.simpleRNN({ units: 2, recurrentInitializer: 'zeros' })],
  ['RNN', SEQUENCE!, () => layers.rnn({ cell: cell() })],
  ['Bidirectional', SEQUENCE!, () => layers.bidirectional({ layer: lstm() as never, mergeMode: 'sum' })],
  ['ConvLSTM2D', VIDEOS!, () => layers.convLstm2d(wide)],
  ['Conv1D', SEQUENCE!, () => layers.conv1d(wide)],
  ['Conv1D', SEQUENCE!, () => layers.conv1d({ ...wide, padding: 'causal' })],
  ['Conv1D', SEQUENCE!, () => layers.conv1d({ ...narrow, strides: 2 })],
  ['Conv2D', IMAGES!, () => layers.conv2d(wide)],
  ['Conv2D', [4, null, null], () => layers.conv2d({ ...narrow, ...first })],
  ['Conv3D', VIDEOS!, () => layers.conv3d(wide)],
  ['Conv2DTranspose', IMAGES!, () => layers.conv2dTranspose(wide)],
  ['Conv3DTranspose', VIDEOS!, () => layers.conv3dTranspose({ ...narrow, strides: 2 })],
  ['SeparableConv2D', IMAGES!, () => layers.separableConv2d(wide)],
  ['DepthwiseConv2D', IMAGES!, () => layers.depthwiseConv2d({ kernelSize: 3 })],
  ['MaxPooling1D', SEQUENCE!, () => layers.maxPooling1d({ poolSize: 2 })],
  ['AveragePooling1D', SEQUENCE!, () => layers.averagePooling1d({ poolSize: 1, strides: 2 })],
  ['MaxPooling2D', IMAGES!, () => layers.maxPooling2d({ poolSize: 2 })],
  ['AveragePooling2D', IMAGES!, () => layers.averagePooling2d({ poolSize: 2 })],
  ['MaxPooling3D', VIDEOS!, () => layers.maxPooling3d({ poolSize: 2 })],
  ['AveragePooling3D', VIDEOS!, () => layers.averagePooling3d({ poolSize: 2 })],
  ['GlobalAveragePooling1D', SEQUENCE!, () => layers.globalAveragePooling1d()],
  ['GlobalMaxPooling1D', SEQUENCE!, () => layers.globalMaxPooling1d()],
  ['GlobalAveragePooling2D', IMAGES!, () => layers.globalAveragePooling2d({})],
  ['GlobalMaxPooling2D', IMAGES!, () => layers.globalMaxPooling2d({})],
  ['Flatten', [8, 6], () => layers.flatten()],
  ['Permute', SEQUENCE!, () => layers.permute({ dims: [2, 1] })],
  ['Reshape', [8, 6], () => layers.reshape({ targetShape: [4, 12] })],
  ['Reshape', SEQUENCE!, () => layers.reshape({ targetShape: [null as never, 12] })],
  ['Reshape', SEQUENCE!, () => layers.reshape({ targetShape: [8, 6] })],
  ['RepeatVector', TOKENS!, () => layers.repeatVector({ n: 3 })],
  ['ZeroPadding2D', IMAGES!, () => layers.zeroPadding2d({ padding: 1 })],
  ['Cropping2D', IMAGES!, () => layers.cropping2D({ cropping: [[1, 0], [0, 0]] })], // prettier-ignore
  ['UpSampling2D', IMAGES!, () => layers.upSampling2d({ size: [2, 1] })],
  ['Resizing', IMAGES!, () => layers.resizing({ height: 4, width: 4 })],
  ['CenterCrop', IMAGES!, () => layers.centerCrop({ height: 2, width: 2 })],
  ['RandomWidth', SEQUENCE!, () => layers.randomWidth({ factor: 0.5 })],
  ['LayerNormalization', [8, 6], () => layers.layerNormalization({ axis: 1 })],
  ['LayerNormalization', [8, 6], () => layers.layerNormalization({ axis: [1, 2] })],
  ['BatchNormalization', [8, 6], () => layers.batchNormalization({ axis: 1 })],
  // The default axis of tfjs is 1.
  ['Softmax', SEQUENCE!, () => layers.softmax()],
  ['Softmax', SEQUENCE!, () => layers.softmax({ axis: 1 })],
  ['Softmax', SEQUENCE!, () => layers.softmax({ axis: -2 })],
  ['Softmax', TOKENS!, () => layers.softmax()],
  ['Activation', TOKENS!, () => layers.activation({ activation: 'softmax' })],
  ['Activation', TOKENS!, () => layers.activation({ activation: 'logSoftmax' as never })],
  ['PReLU', [8, 6], () => layers.prelu()],
  ['SpatialDropout1D', SEQUENCE!, () => layers.spatialDropout1d({ rate: 0.5 })],
  ['Dropout', SEQUENCE!, () => layers.dropout({ rate: 0.5, noiseShape: [null as never, 1, 6] })],
  [
    'TimeDistributed',
    SEQUENCE!,
    () =>
      layers.timeDistributed({
        layer: tf.sequential({ layers: [layers.batchNormalization({ inputShape: [6] })] }) as never,
      }),
  ],
];

const ALLOWED: readonly Use[] = [
  ['dense', SEQUENCE!, () => layers.dense({ units: 2, activation: 'softmax' })],
  ['dense on features', [6], () => layers.dense({ units: 2 })],
  ['embedding', TOKENS!, () => layers.embedding({ inputDim: 4, outputDim: 2 })],
  ['dropout', SEQUENCE!, () => layers.dropout({ rate: 0.5 })],
  [
    'dropout of whole positions',
    SEQUENCE!,
    () => layers.dropout({ rate: 0.5, noiseShape: [null as never, null as never, 1] }),
  ],
  ['activation', SEQUENCE!, () => layers.activation({ activation: 'softmax' })],
  ['activation of positions', TOKENS!, () => layers.activation({ activation: 'tanh' })],
  ['softmax', SEQUENCE!, () => layers.softmax({ axis: -1 })],
  ['layerNormalization', SEQUENCE!, () => layers.layerNormalization()],
  ['batchNormalization', SEQUENCE!, () => layers.batchNormalization()],
  ['prelu', SEQUENCE!, () => layers.prelu({ sharedAxes: [1] })],
  ['masking', SEQUENCE!, () => layers.masking()],
  ['rescaling', SEQUENCE!, () => layers.rescaling({ scale: 2 })],
  ['gaussianNoise', SEQUENCE!, () => layers.gaussianNoise({ stddev: 0.1 })],
  ['conv1d', SEQUENCE!, () => layers.conv1d(narrow)],
  ['conv2d', IMAGES!, () => layers.conv2d(across)],
  ['separableConv2d', IMAGES!, () => layers.separableConv2d(across)],
  ['depthwiseConv2d', IMAGES!, () => layers.depthwiseConv2d({ kernelSize: [1, 3] })],
  ['maxPooling1d', SEQUENCE!, () => layers.maxPooling1d({ poolSize: 1 })],
  ['maxPooling2d', IMAGES!, () => layers.maxPooling2d({ poolSize: [1, 2] })],
  ['maxPooling2d of channels', [null, 4, 4], () => layers.maxPooling2d({ poolSize: 2, ...first })],
  ['globalMaxPooling2d of channels', [null, 4, 4], () => layers.globalMaxPooling2d(first)],
  ['zeroPadding2d', IMAGES!, () => layers.zeroPadding2d({ padding: [[0, 0], [1, 1]] })], // prettier-ignore
  ['upSampling2d', IMAGES!, () => layers.upSampling2d({ size: [1, 2] })],
  ['randomWidth', IMAGES!, () => layers.randomWidth({ factor: 0.5 })],
  ['permute', IMAGES!, () => layers.permute({ dims: [1, 3, 2] })],
  ['reshape', SEQUENCE!, () => layers.reshape({ targetShape: [null as never, 2, 3] })],
  ['reshape of known length', [8, 6], () => layers.reshape({ targetShape: [8, 3, 2] })],
  ['flatten of one feature', [8, 1], () => layers.flatten()],
  ['timeDistributed', VIDEOS!, () => layers.timeDistributed({ layer: layers.flatten() })],
  ['timeDistributed lstm', IMAGES!, () => layers.timeDistributed({ layer: lstm() })],
  ['repeatVector of features', [6], () => layers.repeatVector({ n: 6 })],
];

const chain = (shape: Shape, ...added: object[]) => {
  const input = tf.input({ shape: shape as number[] });
  const output = added.reduce<tf.SymbolicTensor>(
    (x, layer) => (layer as Layer).apply(x) as tf.SymbolicTensor,
    input,
  );
  return tf.model({ inputs: input, outputs: output });
};

/** The details of the error of a model, or undefined. */
function refusalOf(model: tf.LayersModel): Readonly<Record<string, unknown>> | undefined {
  if (!isGraph(model)) throw new Error('no model');
  try {
    requirePositions(model, 2);
    return undefined;
  } catch (error) {
    if (!isAccError(error, 'ACC_CONTEXT_LAYER')) throw error;
    return error.details;
  }
}

it.each(REFUSED)('%s on [rows, %j] is refused', (className, shape, create) => {
  const layer = create() as Layer;
  expect(refusalOf(chain(shape, layer))).toMatchObject({ layer: layer.name, className });
});

it.each(ALLOWED)('%s on [rows, %j] is allowed', (_, shape, create) => {
  expect(refusalOf(chain(shape, create()))).toBeUndefined();
});

it('the message names the layer, the reason and the next step', () => {
  const model = chain(SEQUENCE!, layers.conv1d({ ...wide, name: 'reader' }));
  expect(() => requirePositions(model as never, 2)).toThrow(
    /'reader' \(Conv1D\) has kernelSize 3 and strides 1 .* context: 2, .*\[null, null, 6\].*\n→ Use kernelSize 1/,
  );
});

const joined = (layer: object, shapes: Shape[], [left, right]: (object | undefined)[] = []) => {
  const inputs = shapes.map((shape) => tf.input({ shape: shape as number[] }));
  const sides = [left, right].map((local, i) =>
    local ? ((local as Layer).apply(inputs[i]!) as tf.SymbolicTensor) : inputs[i]!,
  );
  return tf.model({ inputs, outputs: (layer as Layer).apply(sides) as tf.SymbolicTensor });
};

/** Takes `[rows, length, features]` to `[rows, features]`. */
class Last extends tf.layers.Layer {
  static readonly className = 'Last';
  override computeOutputShape([rows, , features]: Shape): Shape {
    return [rows!, features!];
  }
}
/** Changes no shape. */
class Same extends tf.layers.Layer {
  static readonly className = 'Same';
}

it.each([
  ['concatenate along features', layers.concatenate(), [SEQUENCE!, SEQUENCE!], undefined],
  ['concatenate along positions', layers.concatenate({ axis: 1 }), [SEQUENCE!, SEQUENCE!], 'Concatenate'],
  ['add', layers.add(), [SEQUENCE!, SEQUENCE!], undefined],
  ['add features to positions', layers.add(), [SEQUENCE!, [6]], undefined],
  ['multiply positions by features', layers.multiply(), [[null, null], [null]], 'Multiply'],
  [
    'dot over positions',
    layers.dot({ axes: 1 }),
    [
      [8, 6],
      [8, 6],
    ],
    'Dot',
  ],
  ['dot of positions', layers.dot({ axes: 2 }), [SEQUENCE!, SEQUENCE!], 'Dot'],
  [
    'dot over positions of one',
    layers.dot({ axes: [2, 1] }),
    [
      [8, 8],
      [8, 6],
    ],
    'Dot',
  ],
  ['dot with features', layers.dot({ axes: [2, 1] }), [SEQUENCE!, [6]], undefined],
  ['dot of features with positions', layers.dot({ axes: [1, 2] }), [[6], SEQUENCE!], undefined],
] as const)('of two inputs: %s', (_, layer, shapes, refused) => {
  expect(refusalOf(joined(layer, shapes as never))?.['className']).toBe(refused);
});

it('layers after the positions are gone are allowed', () => {
  const decoder = [layers.repeatVector({ n: 4 }), lstm(), layers.flatten(), layers.dense({ units: 2 })];
  expect(refusalOf(chain(SEQUENCE!, new Last({}), ...decoder))).toBeUndefined();
  const branch = tf.input({ shape: [6] });
  const wideBranch = chain([6], layers.dense({ units: 12 }), layers.reshape({ targetShape: [4, 3] }), lstm());
  expect(refusalOf(wideBranch)).toBeUndefined();
  const both = layers
    .concatenate()
    .apply([branch, layers.dense({ units: 6 }).apply(branch) as tf.SymbolicTensor]);
  expect(refusalOf(tf.model({ inputs: branch, outputs: both as tf.SymbolicTensor }))).toBeUndefined();
});

it.each([
  ['layers of a program', SEQUENCE!, () => [new Same({}), lstm()], 'LSTM'],
  [
    'embeddings of a fixed length',
    [8],
    () => [layers.embedding({ inputDim: 4, outputDim: 2 }), lstm()],
    'LSTM',
  ],
  ['values as features', [8], () => [layers.reshape({ targetShape: [8, 1] }), lstm()], 'LSTM'],
  ['one feature', [8, 1], () => [layers.flatten(), layers.dense({ units: 2 })], 'Dense'],
  [
    'timeDistributed',
    SEQUENCE!,
    () => [layers.timeDistributed({ layer: layers.dense({ units: 2 }) }), lstm()],
    'LSTM',
  ],
] as const)('%s keep the positions', (_, shape, create, className) => {
  expect(refusalOf(chain(shape as Shape, ...create()))?.['className']).toBe(className);
});

it('a class of a program is not judged, even if it extends one of tfjs-layers', () => {
  const { constructor: Lstm } = lstm();
  class Own extends (Lstm as new (args: object) => Layer) {
    static readonly className: string = 'LSTM';
  }
  expect(refusalOf(chain(SEQUENCE!, new Own({ units: 2, recurrentInitializer: 'zeros' })))).toBeUndefined();
});

it('models in models are judged by what each use of them gets', () => {
  const inner = chain([null, 4], layers.dense({ units: 4 }), lstm());
  const sequential = tf.sequential({ layers: [layers.dense({ units: 4, inputShape: [null, 6] })] });
  sequential.add(inner);
  const stacked = tf.sequential();
  stacked.add(tf.sequential({ layers: [layers.dense({ units: 4, inputShape: [null, 6] })] }));
  stacked.add(layers.globalMaxPooling1d());
  for (const [model, className] of [
    [sequential, 'LSTM'],
    [chain(SEQUENCE!, sequential), 'LSTM'],
    [stacked, 'GlobalMaxPooling1D'],
  ] as const) {
    // prettier-ignore
    expect(refusalOf(model)?.['className']).toBe(className);
  }
  const ofFeatures = chain([6], layers.dense({ units: 12 }), layers.reshape({ targetShape: [3, 4] }), inner);
  expect(refusalOf(ofFeatures)).toBeUndefined();
});

it('one of several outputs is enough, and layers outside the model are not judged', () => {
  const input = tf.input({ shape: SEQUENCE as number[] });
  const dense = layers.dense({ units: 2 }).apply(input) as tf.SymbolicTensor;
  const last = lstm().apply(dense) as tf.SymbolicTensor;
  expect(refusalOf(tf.model({ inputs: input, outputs: [dense, last] }))?.['className']).toBe('LSTM');
  expect(refusalOf(tf.model({ inputs: input, outputs: dense }))).toBeUndefined();
});

afterAll(() => tf.disposeVariables());
