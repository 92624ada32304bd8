// The second half of the examples that train. See first-examples.mjs.
import {
  create,
  createSynced,
  imported,
  required,
  tfjs,
  argparse,
  before,
  after,
  fitting,
  digitsFile,
  digits,
  small,
} from './edits.mjs';

export const lastExamples = [
  {
    name: 'mnist-core',
    script: 'index.js',
    files: { 'data.js': digits() },
    smaller: small(
      'model.js',
      ['TRAIN_STEPS = 100', 'TRAIN_STEPS = 5'],
      ['BATCH_SIZE = 64', 'BATCH_SIZE = 16'],
    ),
    added: [
      after('model.js', tfjs, imported),
      before(
        'model.js',
        '  const returnCost = true;',
        create,
        'accelerator.prepare([conv1Weights, conv2Weights, fullyConnectedWeights, fullyConnectedBias], optimizer);',
      ),
      [
        'model.js',
        '      const batch = data.nextTrainBatch(BATCH_SIZE);\n      return loss(batch.labels, model(batch.xs));',
        '      return accelerator.splitBetweenProcesses(data.nextTrainBatch(BATCH_SIZE),\n          batch => loss(batch.labels, model(batch.xs)));',
      ],
    ],
  },
  {
    name: 'mnist-node',
    script: 'main.js',
    args: ['--epochs', '1', '--batch_size', '34'],
    files: { 'data.js': digits('new digits.MnistDataset()') },
    smaller: small(
      'model.js',
      ['filters: 32', 'filters: 4'],
      ['filters: 32', 'filters: 4'],
      ['filters: 64', 'filters: 4'],
      ['filters: 64', 'filters: 4'],
    ),
    added: fitting('main.js', '  let epochBeginTime;', { head: argparse }),
  },
  {
    name: 'mnist-transfer-cnn',
    script: 'index.js',
    values: { epochs: 2, 'training-mode': 'freeze-feature-layers' },
    files: {
      'loader.js': () => `const tf = require('@tensorflow/tfjs');
const {rows} = require(${JSON.stringify(digitsFile)});
const util = require('./util');
exports.urlExists = async () => false;
exports.loadHostedPretrainedModel = async () => tf.sequential({layers: [
  tf.layers.conv2d({inputShape: [28, 28, 1], filters: 8, kernelSize: 3, activation: 'relu'}),
  tf.layers.conv2d({filters: 8, kernelSize: 3, activation: 'relu'}),
  tf.layers.maxPooling2d({poolSize: 2}), tf.layers.dropout({rate: 0.25}), tf.layers.flatten(),
  tf.layers.dense({units: 16, activation: 'relu'}), tf.layers.dropout({rate: 0.5}),
  tf.layers.dense({units: 5, activation: 'softmax'})]});
exports.loadHostedData = async url => {
  const data = rows(url.includes('train') ? 200 : 40, url.includes('train') ? 0 : 50);
  return {...util.convertDataToTensors(data, 5), data};
};
`,
    },
    smaller: small('index.js', [
      '\nsetupMnistTransferCNN();',
      '\nnew MnistTransferCNNPredictor().init(HOSTED_URLS).then(p => p.retrainModel());',
    ]),
    added: fitting('index.js', '    // Print model summary again', { model: 'this.model' }),
  },
  {
    name: 'polynomial-regression',
    script: 'index.js',
    values: {
      'cubic-coeff': -0.8,
      'quad-coeff': -0.2,
      'linear-coeff': 0.9,
      'const-coeff': 0.5,
      epochs: 10,
      'learning-rate': 0.1,
    },
    added: [
      before('index.js', '// Draw x and y axes in the canvas.', required),
      before('index.js', '  await model.fit(xData', create, 'accelerator.prepare(model);'),
    ],
  },
  {
    name: 'polynomial-regression-core',
    script: 'index.js',
    added: [
      after('index.js', tfjs, imported),
      before('index.js', '  // Train the model!', create, 'accelerator.prepare([a, b, c, d], optimizer);'),
      [
        'index.js',
        'await train(trainingData.xs, trainingData.ys, numIterations);',
        'await accelerator.splitBetweenProcesses(trainingData, ({xs, ys}) => train(xs, ys, numIterations));',
      ],
    ],
  },
  {
    name: 'quantization/housing',
    folder: 'quantization',
    script: 'train_housing.js',
    args: ['--epochs', '3', '--batchSize', '30'],
    smaller: small('data_housing.js', [`  Math.seedrandom('1337');\n`, '']),
    added: fitting('train_housing.js', '  await model.fit(', {
      head: `import * as argparse from 'argparse';`,
    }),
  },
  {
    name: 'quantization/mnist',
    folder: 'quantization',
    script: 'train_mnist.js',
    args: ['fashion-mnist', '--epochs', '1', '--batchSize', '34'],
    files: { 'data_mnist.js': digits() },
    smaller: small('model_fashion_mnist.js', ['filters: 64', 'filters: 4'], ['filters: 64', 'filters: 4']),
    added: fitting('train_mnist.js', '  await model.fit(', {
      head: `import * as argparse from 'argparse';`,
      creates: createSynced,
    }),
  },
  ...['cnn', 'bidirectionalLSTM'].map((type) => ({
    name: `sentiment/${type}`,
    folder: 'sentiment',
    script: 'train.js',
    args: [
      type,
      '--numWords',
      '50',
      '--maxLen',
      '12',
      '--embeddingSize',
      '8',
      '--epochs',
      '2',
      '--batchSize',
      '16',
      '--modelSaveDir',
      '',
    ],
    files: {
      'data.js': () => `const tf = require('@tensorflow/tfjs');
const made = rows => [
  tf.tensor2d(Array.from({length: rows * 12}, (_, i) => (i * 7919) % 50), [rows, 12], 'int32'),
  tf.tensor2d(Array.from({length: rows}, (_, i) => i * 12 * 7919 % 50 < 25 ? 1 : 0), [rows, 1])];
exports.loadData = async () => {
  const [[xTrain, yTrain], [xTest, yTest]] = [made(80), made(30)];
  return {xTrain, yTrain, xTest, yTest};
};
`,
    },
    smaller: small('train.js', ['filters: 250', 'filters: 16'], ['units: 250', 'units: 16']),
    added: fitting('train.js', `  console.log('Training model...');`),
  })),
  {
    name: 'simple-object-detection',
    script: 'train.js',
    args: [
      '--numExamples',
      '24',
      '--initialTransferEpochs',
      '2',
      '--fineTuningEpochs',
      '2',
      '--batchSize',
      '8',
    ],
    files: {
      'synthetic_images.js': () => `const tf = require('@tensorflow/tfjs');
exports.ObjectDetectionImageSynthesizer = class {
  async generateExampleBatch(rows) {
    return {images: tf.randomUniform([rows, 32, 32, 3], 0, 255), targets: tf.randomUniform([rows, 5], 0, 32)};
  }
};
`,
      'base.js': () => `const tf = require('@tensorflow/tfjs');
const layers = name => [
  tf.layers.conv2d({name: name + '_conv', filters: 4, kernelSize: 3, strides: 2, useBias: false}),
  tf.layers.batchNormalization({name}), tf.layers.reLU({name: name + '_relu'})];
exports.base = () => tf.sequential({layers: [
  tf.layers.conv2d({inputShape: [32, 32, 3], filters: 4, kernelSize: 3, strides: 2}),
  ...layers('conv_pw_10'), ...layers('conv_pw_11')]});
`,
    },
    smaller: small('train.js', [
      "await tf.loadLayersModel(\n      'https://storage.googleapis.com/tfjs-models/tfjs/mobilenet_v1_0.25_224/model.json')",
      "require('./base').base()",
    ]),
    added: fitting('train.js', '  // Initial phase of transfer learning.', {
      head: argparse,
      creates: createSynced,
    }),
  },
  {
    name: 'snake-dqn',
    script: 'train.js',
    args: [
      '--maxNumFrames',
      '60',
      '--replayBufferSize',
      '40',
      '--batchSize',
      '8',
      '--syncEveryFrames',
      '5',
      '--cumulativeRewardThreshold',
      '1e9',
    ],
    smaller: small(
      'dqn.js',
      ['rate: 0.25', 'rate: 0'],
      ['filters: 128', 'filters: 4'],
      ['filters: 256', 'filters: 4'],
      ['filters: 256', 'filters: 4'],
    ),
    added: [
      after('train.js', `import * as argparse from 'argparse';`, imported),
      before(
        'train.js',
        '  let tPrev = new Date()',
        create,
        'accelerator.prepare(agent.onlineNetwork, optimizer);',
      ),
    ],
  },
  {
    name: 'translation',
    script: 'translation.ts',
    args: [
      '--data_path',
      'pairs.txt',
      '--artifacts_dir',
      'out',
      '--batch_size',
      '16',
      '--epochs',
      '2',
      '--latent_dim',
      '16',
      '--num_test_sentences',
      '2',
    ],
    files: {
      'pairs.txt': () =>
        Array.from({ length: 60 }, (_, i) => `go ${i}\tva ${(i * 7) % 60}`).join('\n') + '\n',
      'out/.keep': () => '',
    },
    added: fitting('translation.ts', '  await model.fit('),
  },
  {
    name: 'website-phishing',
    script: 'index.js',
    smaller: small('index.js', ['epochs = 400', 'epochs = 4'], ['batchSize = 350', 'batchSize = 80']),
    added: fitting('index.js', '  const trainLogs = [];'),
  },
];
