import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { registerAccBackend } from '../register-backend.js';
import { expectSameAsCpu } from '../testing/compare.js';
import { setMinElements } from './all-pending.js';

// Programs of waiting results that run again and again: after some runs they are machine code.

let undo: () => void;
beforeAll(() => {
  registerAccBackend();
  undo = setMinElements(1);
});
afterAll(() => undo());
beforeEach(() => tf.setBackend('acc'));

it.each([
  [67, 45],
  [33, 100],
  [3, 1024],
  [1200, 32],
])('read numbers of rows and columns where they lie: [%i, %i]', async (rows, columns) => {
  const x = () => tf.sin(tf.range(0, rows * columns)).reshape([rows, columns]);
  const ofRows = () => tf.cos(tf.range(0, rows)).expandDims(1);
  const ofColumns = () => tf.cos(tf.range(0, columns));
  for (let i = 0; i < 6; i++) {
    await expectSameAsCpu(() => x().mul(2).sub(ofRows()).mul(ofColumns()).add(ofRows()).tanh());
  }
});

it('have the numbers of a batch, of positions, of rows and of columns', async () => {
  const shapes = [[4, 30, 64], [30, 64], [4, 30, 1], [64], [4, 1, 64], [1, 30, 1]];
  const operands = () =>
    shapes.map((shape, i) => tf.sin(tf.range(i, i + tf.util.sizeFromShape(shape))).reshape(shape));
  for (let i = 0; i < 6; i++) {
    await expectSameAsCpu(() =>
      operands().reduce((sum, operand, k) => (k % 2 ? sum.mul(operand) : sum.sub(operand))),
    );
  }
});

it('may contain a value in very many ways', () => {
  tf.tidy(() => {
    let y: tf.Tensor = tf.ones([64, 64]);
    for (let i = 0; i < 30; i++) y = y.mul(y);
    expect(y.dataSync().every((value) => value === 1)).toBe(true);
  });
});
