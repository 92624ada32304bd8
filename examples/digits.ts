import * as tf from '@tensorflow/tfjs';
import { readNumbers } from './arguments.js';
import { IMAGE_SHAPE, loadDigits, type Digits } from './mnist/digits.js';

/** How much an example trains: `--epochs N --rows N --batch-size N`. */
export interface Sizes {
  readonly epochs: number;
  /** The number of digits to train on, of 9,003. */
  readonly rows: number;
  /** The number of digits in a batch of all processes together. */
  readonly batchSize: number;
}

/** Reads the sizes from the command line. */
export function readSizes(): Sizes {
  const { epochs, rows, 'batch-size': batchSize } = readNumbers({ epochs: 3, rows: 8640, 'batch-size': 96 });
  return { epochs, rows, batchSize };
}

/** Digits as columns of tensors: `xs` [rows, 28, 28, 1], from 0 to 1, and `ys` [rows], int32. */
export interface DigitColumns {
  readonly xs: tf.Tensor4D;
  readonly ys: tf.Tensor1D;
}

/** The number of digits that measure how well others are recognised. */
const HELD_BACK_ROWS = 960;

/** `rows` digits for training, and 960 others. Their order spreads the classes evenly. */
export function readDigits(rows: number): { train: DigitColumns; heldBack: DigitColumns } {
  const { train, heldBack } = loadDigits();
  return { train: columnsOf(mixed(train, rows)), heldBack: columnsOf(mixed(heldBack, HELD_BACK_ROWS)) };
}

function columnsOf({ count, images, labels }: Digits): DigitColumns {
  return { xs: tf.tensor4d(images, [count, ...IMAGE_SHAPE]), ys: tf.tensor1d(labels, 'int32') };
}

/** It has no factor in common with the numbers of digits, so that steps of this length visit all. */
const STRIDE = 1009;

/** The digits come class by class. Picks `rows` of them in an order that mixes the classes. */
function mixed({ count, images, labels }: Digits, rows: number): Digits {
  if (rows > count) throw new Error(`There are ${count} digits, not ${rows}.`);
  const pixels = images.length / count;
  const chosen = Array.from({ length: rows }, (_, i) => (i * STRIDE) % count);
  const picked = new Float32Array(rows * pixels);
  chosen.forEach((from, to) => picked.set(images.subarray(from * pixels, (from + 1) * pixels), to * pixels));
  return { count: rows, images: picked, labels: Int32Array.from(chosen, (index) => labels[index]!) };
}

/** A small convnet that gives the logits of the ten digits. */
export function createModel(): tf.LayersModel {
  return tf.sequential({
    layers: [
      tf.layers.conv2d({ inputShape: [...IMAGE_SHAPE], filters: 8, kernelSize: 5, activation: 'relu' }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.conv2d({ filters: 16, kernelSize: 5, activation: 'relu' }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 32, activation: 'relu' }),
      tf.layers.dense({ units: 10 }),
    ],
  });
}
