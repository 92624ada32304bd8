import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { registerAccBackend } from './register-backend.js';

registerAccBackend();
beforeEach(() => tf.setBackend('acc'));

// Needs a file of its own: tfjs decides once, at the first profiled kernel, whether to look for
// NaN.
describe('debug mode', () => {
  afterEach(() => {
    tf.env().set('DEBUG', false);
    vi.restoreAllMocks();
  });

  it('finds NaN and infinities with the messages of tfjs, and lists every kernel', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const log = vi.spyOn(console, 'log').mockReturnValue();
    tf.enableDebugMode();
    tf.tidy(() => {
      tf.log(tf.tensor1d([1, -1]));
      tf.div(tf.tensor1d([1, 0]), tf.tensor1d([1, 0]));
      tf.reciprocal(tf.tensor1d([1, 0]));
      tf.square(tf.tensor1d([1, 2]));
    });
    // tfjs checks between tasks.
    await new Promise((resolve) => setTimeout(resolve));
    expect(warn.mock.calls.flat().filter((text) => String(text).startsWith('Found'))).toEqual([
      "Found NaN in the result of 'Log'",
      "Found NaN in the result of 'RealDiv'",
      "Found Infinity in the result of 'Reciprocal'",
    ]);
    const kernels = log.mock.calls.map(([text]) => /^%c(\w+)/.exec(String(text))?.[1]);
    expect(kernels).toEqual(['Log', 'RealDiv', 'Reciprocal', 'Square']);
  });

  it('gives the same results and gradients', async () => {
    vi.spyOn(console, 'warn').mockReturnValue();
    vi.spyOn(console, 'log').mockReturnValue();
    const gradient = () =>
      tf.tidy(() => {
        const x = tf.sin(tf.range(0, 24)).reshape([4, 6]);
        return [
          ...tf
            .grad((v) => tf.softmax(tf.relu(v)).square().sum())(x)
            .dataSync(),
        ];
      });
    const plain = gradient();
    tf.enableDebugMode();
    const debugged = gradient();
    await new Promise((resolve) => setTimeout(resolve));
    expect(debugged).toEqual(plain);
  });
});
