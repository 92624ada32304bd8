// Edits of files, and data, which both lists of examples use.
import { fileURLToPath } from 'node:url';

export const create = `const accelerator = await Accelerator.create({dataLoader: {splitBatches: true}});`;
export const createSynced = create.replace('}}', '}, ddp: {syncBatchNorm: true}}');
export const imported = `import {Accelerator} from '@acc/core';`;
export const required = `const {Accelerator} = require('@acc/core');`;
export const tfjs = `import * as tf from '@tensorflow/tfjs';`;
export const tfjsNode = `const tf = require('@tensorflow/tfjs-node');`;
export const argparse = `const argparse = require('argparse');`;

/** Puts lines before one, or after it. */
export const before = (file, line, ...lines) => [file, line, [...lines, line].join('\n')];
export const after = (file, line, ...lines) => [file, line, [line, ...lines].join('\n')];

/** `fit` and `fitDataset`: import, create, prepare. */
export const fitting = (file, fit, { model = 'model', head = tfjs, creates = create } = {}) => [
  after(file, head, head.startsWith('import') ? imported : required),
  before(file, fit, creates, `accelerator.prepare(${model});`),
];

export const digitsFile = fileURLToPath(new URL('digits.cjs', import.meta.url));
export const digits =
  (expression = 'digits') =>
  () =>
    `const digits = require(${JSON.stringify(digitsFile)});\nmodule.exports = ${expression};\n`;
export const vaeData = () => {
  const names = 'DATASET_PATH, TRAIN_IMAGES_FILE, IMAGE_FLAT_SIZE, loadImages, previewImage, batchImages';
  return `const {${names}} = require(${JSON.stringify(digitsFile)}).arrays;\nmodule.exports = {${names}};\n`;
};

export const addition = {
  digits: 2,
  trainingSize: 200,
  batchSize: 40,
  trainIterations: 3,
  numTestExamples: 5,
  hiddenSize: 24,
};
export const small = (file, ...pairs) => pairs.map(([from, to]) => [file, from, to]);
