import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { registerAccBackend } from '../register-backend.js';
import { setFloat32Precision } from './float32-precision.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});
afterEach(() => setFloat32Precision('cpu', undefined));

/** A factor of 1 + 2⁻¹², which fewer bits take for 1. */
const product = () =>
  tf.tidy(() => tf.matMul(tf.fill([64, 64], 1 + 2 ** -12), tf.ones([64, 64])).dataSync()[0]!);
const EXACT = 64 * (1 + 2 ** -12);

const unsupported = expect.objectContaining({ code: 'ACC_PRECISION_UNSUPPORTED' }) as Error;

it('float32 is float32 by default, and as ieee', () => {
  expect(product()).toBe(EXACT);
  setFloat32Precision('cpu', 'ieee');
  expect(product()).toBe(EXACT);
});

it.each(['bf16', 'tf32'] as const)('%s rounds factors, or is refused by a CPU without it', (precision) => {
  let isRefused = false;
  try {
    setFloat32Precision('cpu', precision);
  } catch (error) {
    expect(error).toEqual(unsupported);
    isRefused = true;
  }
  expect(product()).toBe(isRefused ? EXACT : 64);
  setFloat32Precision('cpu', undefined);
  expect(product()).toBe(EXACT);
});
