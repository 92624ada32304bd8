import * as tf from '@tensorflow/tfjs';
import { expect, it, vi } from 'vitest';
import { activeLayer } from './active-layer.js';
import { registerAccBackend, registerAccBackendFor, registeredDevice } from './register-backend.js';
import { restoreChoices, savedChoices } from './state/choices.js';

vi.mock('./state/choices.js', () => ({ savedChoices: vi.fn(() => ({})), restoreChoices: vi.fn() }));

// A setup that registers a device has loaded the modules, which can then not be replaced.
const isSetUp = registeredDevice() !== undefined;

it.skipIf(isSetUp)(
  'the choices of kernels are stored as those of the registered device, whatever backend is active',
  () => {
    registerAccBackend({ device: 'late:1' });
    const { state } = activeLayer({ hasNative: true });
    state.setState(state.getState());
    expect(savedChoices).toHaveBeenCalledWith('late:1');
    expect(restoreChoices).toHaveBeenCalledWith('late:1', {});
  },
);

it('a device that the program did not choose is not one that it registered', () => {
  const chosen = registeredDevice();
  registerAccBackendFor('cuda:0');
  expect(registeredDevice()).toBe(chosen);
  registerAccBackend({ device: 'cpu' });
  expect(registeredDevice()).toBe('cpu');
});

it('can be called again, but the device is fixed once the backend was set', async () => {
  registerAccBackend({ device: 'cpu' });
  expect(await tf.setBackend('acc')).toBe(true);
  registerAccBackend();
  registerAccBackend({ device: 'cpu' });
  expect(() => registerAccBackend({ device: 'cuda:0' })).toThrowError(
    expect.objectContaining({ code: 'ACC_DEVICE_CHANGED' }),
  );
});
