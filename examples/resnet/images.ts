import * as tf from '@tensorflow/tfjs';
import { randomNumbers } from '../random.js';

/** The size of CIFAR's images. */
export const SIDE = 32;
const CHANNELS = 3;

/** Whether a point belongs to a shape of radius 1 around the origin. */
type Shape = (x: number, y: number) => boolean;

const SHAPES: readonly Shape[] = [
  (x, y) => Math.hypot(x, y) < 1,
  (x, y) => Math.max(Math.abs(x), Math.abs(y)) < 0.85,
  (x, y) => Math.abs(x) + Math.abs(y) < 1,
  (x, y) => y < 0.7 && y > 2 * Math.abs(x) - 1,
  (x, y) => Math.hypot(x, y) < 1 && Math.hypot(x, y) > 0.6,
  (x, y) => Math.min(Math.abs(x), Math.abs(y)) < 0.3 && Math.max(Math.abs(x), Math.abs(y)) < 1,
  (x, y) => Math.abs(Math.abs(x) - Math.abs(y)) < 0.35 && Math.hypot(x, y) < 1.1,
  (x, y) => Math.abs(x) < 1 && Math.sin(7 * y) > 0 && Math.abs(y) < 1,
  (x, y) => Math.abs(y) < 1 && Math.sin(7 * x) > 0 && Math.abs(x) < 1,
  (x, y) => Math.sin(5 * x) * Math.sin(5 * y) > 0 && Math.max(Math.abs(x), Math.abs(y)) < 1,
];
export const CLASSES = SHAPES.length;

/**
 * Images as CIFAR's: ten classes in colour, here shapes at random places, in random sizes and
 * colours, with noise.
 *
 * @returns `xs` [rows, 32, 32, 3], about from -1 to 1, and `ys` [rows], int32.
 */
export function drawImages(rows: number, seed: number): { xs: tf.Tensor4D; ys: tf.Tensor1D } {
  const random = randomNumbers(seed);
  const pixels = new Float32Array(rows * SIDE * SIDE * CHANNELS);
  const labels = Int32Array.from({ length: rows }, (_, row) => row % CLASSES);
  const size = SIDE * SIDE * CHANNELS;
  labels.forEach((label, row) => drawImage(pixels.subarray(row * size, (row + 1) * size), label, random));
  return { xs: tf.tensor4d(pixels, [rows, SIDE, SIDE, CHANNELS]), ys: tf.tensor1d(labels, 'int32') };
}

function drawImage(pixels: Float32Array, label: number, random: () => number): void {
  const between = (low: number, high: number) => low + (high - low) * random();
  const [centerX, centerY, radius] = [between(11, 21), between(11, 21), between(7, 10)];
  const colours = Array.from({ length: 2 * CHANNELS }, () => between(-1, 1));
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const isInside = SHAPES[label]!((x - centerX) / radius, (y - centerY) / radius);
      for (let channel = 0; channel < CHANNELS; channel++) {
        const colour = colours[isInside ? channel : CHANNELS + channel]!;
        pixels[(y * SIDE + x) * CHANNELS + channel] = colour + between(-0.3, 0.3);
      }
    }
  }
}
