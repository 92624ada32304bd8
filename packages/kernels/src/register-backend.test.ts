import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { registerAccBackend } from './register-backend.js';

it('can be called again, but the device is fixed once the backend was set', async () => {
  registerAccBackend({ device: 'cpu' });
  expect(await tf.setBackend('acc')).toBe(true);
  registerAccBackend();
  registerAccBackend({ device: 'cpu' });
  expect(() => registerAccBackend({ device: 'cuda:0' })).toThrowError(
    expect.objectContaining({ code: 'ACC_DEVICE_CHANGED' }),
  );
});
