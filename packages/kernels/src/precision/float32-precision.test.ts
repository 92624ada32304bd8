import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { observeCalls, setFloat32Precision as setNative, type Tensor } from '@acc/native';
import { registerAccBackend } from '../register-backend.js';
import { fixKernelChoices } from '../tuning/tuning.js';
import { setFloat32Precision } from './float32-precision.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  // Of this size, this project's own product may be the fastest, which rounds no factors.
  fixKernelChoices(true);
});
afterEach(() => setFloat32Precision('cpu', undefined));

/** One factor is 1 + 2⁻¹², which rounds to 1 in tf32 and bfloat16. */
const product = () =>
  tf.tidy(() => tf.matMul(tf.fill([64, 64], 1 + 2 ** -12), tf.ones([64, 64])).dataSync()[0]!);
const EXACT = 64 * (1 + 2 ** -12);

const unsupported = expect.objectContaining({ code: 'ACC_PRECISION_UNSUPPORTED' }) as Error;

it("float32 is exact by default and with 'ieee'", () => {
  expect(product()).toBe(EXACT);
  setFloat32Precision('cpu', 'ieee');
  expect(product()).toBe(EXACT);
});

/** Whether this CPU rounds factors when libtorch is told to; bypasses the check under test. */
function roundsFactors(precision: 'bf16' | 'tf32'): boolean {
  try {
    setNative('mkldnn', precision);
    return product() !== EXACT;
  } catch {
    return false;
  } finally {
    setNative('mkldnn', 'default');
  }
}

it.each(['bf16', 'tf32'] as const)(
  '%s rounds factors if the CPU supports it, and is refused otherwise',
  (precision) => {
    const isThere = roundsFactors(precision);
    expect(product()).toBe(EXACT);
    if (isThere) setFloat32Precision('cpu', precision);
    else expect(() => setFloat32Precision('cpu', precision)).toThrowError(unsupported);
    expect(product()).toBe(isThere ? 64 : EXACT);
    setFloat32Precision('cpu', undefined);
    expect(product()).toBe(EXACT);
  },
);

it('asks a GPU by a product that is large enough for its tensor cores', () => {
  const sizes: (readonly number[])[] = [];
  const end = observeCalls((name, args) => {
    if (name === 'aten::mm') sizes.push((args[0] as Tensor).shape);
  });
  try {
    setFloat32Precision('cuda:0', 'tf32');
  } catch (error) {
    // Where tensors are not on a GPU, nothing is rounded.
    expect(error).toEqual(unsupported);
  } finally {
    end();
    setFloat32Precision('cuda:0', undefined);
  }
  expect(sizes).toEqual([[1024, 1024]]);
});
