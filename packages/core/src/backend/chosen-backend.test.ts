import * as tf from '@tensorflow/tfjs';
import { beforeEach, expect, it } from 'vitest';
import { activateBackend, chosenBackend } from './chosen-backend.js';
import './note-choices.js';

/** Restores the state of a process that has not used tfjs. */
beforeEach(() => tf.engine().reset());

it('a backend that tfjs takes by default was not chosen by the program', async () => {
  expect(chosenBackend()).toBeUndefined();
  tf.ones([2]).dispose();
  expect([tf.getBackend(), chosenBackend()]).toEqual(['cpu', undefined]);
  tf.engine().reset();
  await tf.ready();
  expect([tf.getBackend(), chosenBackend()]).toEqual(['cpu', undefined]);
});

it('a backend that the program sets was chosen, before and after the first tensor', async () => {
  await tf.setBackend('cpu');
  expect(chosenBackend()).toEqual({ backendName: 'cpu', how: 'set it' });
  tf.engine().reset();
  expect(chosenBackend()).toBeUndefined();
  tf.ones([2]).dispose();
  await tf.setBackend('cpu');
  expect(chosenBackend()).toEqual({ backendName: 'cpu', how: 'set it' });
});

it('a backend that the Accelerator activates was not chosen by the program', async () => {
  await activateBackend('cpu');
  expect([tf.getBackend(), chosenBackend()]).toEqual(['cpu', undefined]);
});

it('the backend of tfjs-node counts as chosen from its import on, which activates it', async () => {
  tf.registerBackend('tensorflow', tf.findBackendFactory('cpu') as () => tf.KernelBackend);
  await tf.setBackend('tensorflow');
  expect(chosenBackend()).toEqual({ backendName: 'tensorflow', how: 'imports tfjs-node' });
  await tf.setBackend('cpu');
  expect(chosenBackend()).toEqual({ backendName: 'cpu', how: 'set it' });
  await tf.setBackend('tensorflow');
  expect(chosenBackend()).toEqual({ backendName: 'tensorflow', how: 'set it' });
  await activateBackend('cpu');
  expect(chosenBackend()).toBeUndefined();
  tf.removeBackend('tensorflow');
});

it('a backend that does not start was not chosen', async () => {
  tf.registerBackend('broken', () => {
    throw new Error('broken');
  });
  const { error, warn } = console;
  console.warn = console.error = () => {};
  try {
    expect(await tf.setBackend('broken')).toBe(false);
    await tf.setBackend('cpu');
  } finally {
    Object.assign(console, { error, warn });
  }
  expect(chosenBackend()).toEqual({ backendName: 'cpu', how: 'set it' });
  tf.removeBackend('broken');
});
