// The first half of the examples that train: how each is started, what differs from the original or
// is smaller, and the lines that the library needs.
import standIns from './stand-ins.cjs';
import {
  create,
  imported,
  required,
  tfjs,
  tfjsNode,
  argparse,
  before,
  after,
  fitting,
  digits,
  vaeData,
  addition,
  small,
} from './edits.mjs';

export const firstExamples = [
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
];
