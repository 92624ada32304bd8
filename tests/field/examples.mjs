// The examples that train: how each is started, what is other or smaller than in the original, and the lines that the library needs.
import { fileURLToPath } from 'node:url';
import standIns from './stand-ins.cjs';

const create = `const accelerator = await Accelerator.create({dataLoader: {splitBatches: true}});`;
const createSynced = create.replace('}}', '}, ddp: {syncBatchNorm: true}}');
const imported = `import {Accelerator} from '@acc/core';`;
const required = `const {Accelerator} = require('@acc/core');`;
const tfjs = `import * as tf from '@tensorflow/tfjs';`;
const tfjsNode = `const tf = require('@tensorflow/tfjs-node');`;
const argparse = `const argparse = require('argparse');`;

/** Puts lines before one, or after it. */
const before = (file, line, ...lines) => [file, line, [...lines, line].join('\n')];
const after = (file, line, ...lines) => [file, line, [line, ...lines].join('\n')];

/** `fit` and `fitDataset`: import, create, prepare. */
const fitting = (file, fit, { model = 'model', head = tfjs, creates = create } = {}) => [
  after(file, head, head.startsWith('import') ? imported : required),
  before(file, fit, creates, `accelerator.prepare(${model});`),
];

const digitsFile = fileURLToPath(new URL('digits.cjs', import.meta.url));
const digits =
  (expression = 'digits') =>
  () =>
    `const digits = require(${JSON.stringify(digitsFile)});\nmodule.exports = ${expression};\n`;
const vaeData = () => {
  const names = 'DATASET_PATH, TRAIN_IMAGES_FILE, IMAGE_FLAT_SIZE, loadImages, previewImage, batchImages';
  return `const {${names}} = require(${JSON.stringify(digitsFile)}).arrays;\nmodule.exports = {${names}};\n`;
};

const addition = {
  digits: 2,
  trainingSize: 200,
  batchSize: 40,
  trainIterations: 3,
  numTestExamples: 5,
  hiddenSize: 24,
};
const small = (file, ...pairs) => pairs.map(([from, to]) => [file, from, to]);

export const examples = [
  {
    name: 'abalone-node',
    script: 'train.js',
    args: ['--epochs', '3', '--batch_size', '100'],
    smaller: small('train.js', ['Math.floor(3500', 'Math.floor(500']),
    added: fitting('train.js', '  await model.fitDataset(', { head: tfjsNode }),
  },
  {
    name: 'addition-rnn',
    script: 'index.js',
    values: { ...addition, rnnLayers: 1, rnnLayerSize: 24 },
    smaller: small('index.js', [
      "rnnTypeSelect.options[rnnTypeSelect.selectedIndex].getAttribute(\n            'value')",
      "'LSTM'",
    ]),
    actions: [['trainModel']],
    added: fitting('index.js', '    const lossValues', { model: 'this.model' }),
  },
  {
    name: 'addition-rnn-webworker',
    script: 'worker.js',
    actions: [['self', 'message', { data: { ...addition, rnnType: 'GRU', layers: 1 } }]],
    added: fitting('worker.js', '    const lossValues', {
      model: 'this.model',
      head: `const tf = require('@tensorflow/tfjs');`,
    }),
  },
  ...['pitch_type', 'strike_zone'].map((part) => ({
    name: `baseball-node/${part}`,
    folder: 'baseball-node',
    script: `train_${part}.js`,
    args: ['--epochs', '2'],
    added: fitting(
      `train_${part}.js`,
      part === 'pitch_type' ? '  await pitch_type.model.fit' : '  await sz_model.model.fit',
      {
        head: argparse,
        model: part === 'pitch_type' ? 'pitch_type.model' : 'sz_model.model',
      },
    ),
  })),
  {
    name: 'boston-housing',
    script: 'index.js',
    smaller: small('index.js', ['NUM_EPOCHS = 200', 'NUM_EPOCHS = 5']),
    actions: [['document', 'DOMContentLoaded'], ['nn-mlr-2hidden']],
    added: fitting('index.js', '  let trainLogs = [];'),
  },
  {
    name: 'cart-pole',
    script: 'index.js',
    values: {
      'hidden-layer-sizes': 8,
      'num-iterations': 3,
      'games-per-iteration': 3,
      'discount-rate': 0.95,
      'max-steps-per-game': 30,
      'learning-rate': 0.05,
    },
    actions: [['create-model'], ['train']],
    added: [
      after('index.js', tfjs, imported),
      before(
        'index.js',
        '    const allGradients = [];',
        `    this.accelerator ||= await Accelerator.create({ddp: {syncAt: 'apply'}});`,
        '    this.accelerator.prepare(this.policyNet, optimizer);',
      ),
    ],
  },
  {
    name: 'data-generator',
    script: 'index.js',
    values: { 'generator-batch': 20, 'batches-per-epoch': 5, 'epochs-to-train': 1 },
    actions: [['document', 'DOMContentLoaded'], ['train-model-using-fit-dataset']],
    added: fitting('index.js', '  const trainLogs = [];'),
  },
  {
    name: 'date-conversion-attention',
    script: 'train.js',
    args: ['--epochs', '1', '--batchSize', '32', '--trainSplit', '0.0005', '--valSplit', '0.0003'],
    smaller: [
      ...small(
        'model.js',
        ['embeddingDims = 64', 'embeddingDims = 16'],
        ['lstmUnits = 64', 'lstmUnits = 16'],
      ),
      ...small('train.js', ['const numTests = 10', 'const numTests = 0']),
    ],
    added: fitting('train.js', '  await model.fit('),
  },
  {
    name: 'fashion-mnist-vae',
    script: 'train.js',
    args: ['--epochs', '2', '--batchSize', '32'],
    files: { 'data.js': vaeData },
    smaller: [
      ...small('train.js', ['INTERMEDIATE_DIM = 512', 'INTERMEDIATE_DIM = 64']),
      ...small('model.js', ['tf.randomNormal([batch, dim], mean, std)', 'tf.ones([batch, dim])']),
    ],
    added: [
      after('train.js', argparse, required),
      after(
        'train.js',
        '  const optimizer = tf.train.adam();',
        create,
        'accelerator.prepare(vaeModel, optimizer);',
      ),
      [
        'train.js',
        'const batches = _.chunk(images, batchSize);',
        'const batches = _.chunk(images, batchSize).map(batch => accelerator.splitBetweenProcesses(batch, part => part));',
      ],
    ],
  },
  {
    name: 'getting-started',
    script: 'index.js',
    added: [
      before('index.js', '// Tiny TFJS train', required),
      before('index.js', '  // Train the model', create, 'accelerator.prepare(model);'),
    ],
  },
  {
    name: 'intent-classifier/intent',
    folder: 'intent-classifier',
    script: 'training/train_intent.js',
    args: ['--epochs', '2'],
    files: {
      'training/models/intent/.keep': () => '',
      'training/data/intents_as_tensors.json': () =>
        JSON.stringify({
          xsArr: Array.from({ length: 100 * 512 }, (_, i) => Math.sin(i)),
          ysArr: Array.from({ length: 100 * 3 }, (_, i) => Number(i % 3 === Math.floor(i / 3) % 3)),
        }),
      'training/data/intent_metadata.json': () =>
        JSON.stringify({ xsShape: [100, 512], ysShape: [100, 3], labels: ['a', 'b', 'c'] }),
    },
    added: fitting('training/train_intent.js', '  // We use model.fit', { head: argparse }),
  },
  {
    name: 'intent-classifier/tagger',
    folder: 'intent-classifier',
    script: 'training/train_tagger.js',
    args: ['--epochs', '2', '--batchSize', '8', '--sequenceLength', '6'],
    files: {
      'training/models/bidirectional-tagger/.keep': () => '',
      'training/data/token_embeddings.ndjson': () =>
        [...'abcdef']
          .map((token, i) => JSON.stringify([token, Array.from({ length: 512 }, (_, k) => Math.sin(i + k))]))
          .join('\n'),
      'training/data/intents_tagged_tokens.ndjson': () =>
        Array.from({ length: 40 }, (_, i) =>
          JSON.stringify([
            [0, 1, 2].map((k) => ({ token: 'abcdef'[(i + k) % 6], tag: ['LOC', 'TOK'][(i + k) % 2] })),
          ]),
        ).join('\n'),
    },
    added: [
      after('training/train_tagger.js', argparse, required),
      before(
        'training/train_tagger.js',
        `  console.log('Start training'`,
        create,
        'accelerator.prepare(model);',
      ),
    ],
  },
  ...['iris', 'iris-fitDataset'].map((name) => ({
    name,
    script: 'index.js',
    values: { 'train-epochs': 6, 'learning-rate': 0.01 },
    actions: [['train-from-scratch']],
    added: fitting('index.js', '  // Call `model.fit`'),
  })),
  {
    name: 'jena-weather',
    script: 'train-rnn.js',
    args: ['--lookBack', '24', '--delay', '12', '--batchSize', '16', '--epochs', '2'],
    smaller: small(
      'models.js',
      ['TRAIN_MAX_ROW = 200000', 'TRAIN_MAX_ROW = 800'],
      ['VAL_MIN_ROW = 200001', 'VAL_MIN_ROW = 801'],
      ['VAL_MAX_ROW = 300000', 'VAL_MAX_ROW = 901'],
      ['batchesPerEpoch: 500', 'batchesPerEpoch: 6'],
    ),
    added: fitting('models.js', '  await model.fitDataset('),
  },
  {
    name: 'lstm-text-generation',
    script: 'train_node.js',
    args: [
      'text.txt',
      '--sampleLen',
      '10',
      '--epochs',
      '2',
      '--examplesPerEpoch',
      '64',
      '--batchSize',
      '16',
      '--displayLength',
      '3',
      '--lstmLayerSize',
      '16,16',
    ],
    files: { 'text.txt': () => standIns.text(1500, 15) },
    added: fitting('model.js', '  for (let i = 0; i < numEpochs'),
  },
  {
    name: 'mnist',
    script: 'index.js',
    values: { 'model-type': 'ConvNet', 'train-epochs': 2 },
    files: { 'data.js': digits() },
    smaller: small(
      'index.js',
      ['batchSize = 320', 'batchSize = 34'],
      ['filters: 16', 'filters: 4'],
      ['filters: 32', 'filters: 4'],
      ['filters: 32', 'filters: 4'],
    ),
    actions: [['train']],
    added: fitting('index.js', '  let valAcc;'),
  },
  {
    name: 'mnist-acgan',
    script: 'gan.js',
    args: ['--epochs', '1', '--batchSize', '20', '--latentSize', '10'],
    files: { 'data.js': digits('new digits.MnistDataset()'), 'dist/generator/.keep': () => '' },
    smaller: small(
      'gan.js',
      ['3 * 3 * 384', '3 * 3 * 12'],
      ['[3, 3, 384]', '[3, 3, 12]'],
      ['filters: 192', 'filters: 4'],
      ['filters: 96', 'filters: 6'],
      ['filters: 32', 'filters: 4'],
      ['filters: 64', 'filters: 6'],
      ['filters: 128', 'filters: 6'],
      ['filters: 256', 'filters: 4'],
    ),
    added: [
      after('gan.js', argparse, required),
      before('gan.js', '  await data.loadData();', create, 'accelerator.prepare(discriminator, combined);'),
    ],
  },
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
