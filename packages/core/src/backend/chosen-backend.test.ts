import * as tf from '@tensorflow/tfjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { activateBackend, chosenBackend } from './chosen-backend.js';
import { silenceNodeAdvice } from './node-advice.js';
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

it("tfjs's backend cpu does not advise to install tfjs-node, wherever it was created", async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const createCpu = tf.findBackendFactory('cpu') as () => tf.KernelBackend;
  const firstTensorOn = async (name: string) => {
    tf.registerBackend(name, createCpu);
    await tf.setBackend(name);
    return () => tf.ones([1]).dataSync();
  };
  const warnings = async (name: string, between = () => {}) => {
    const compute = await firstTensorOn(name);
    between();
    compute();
    return warn.mock.calls.splice(0).filter(([text]) => /speed things up/.test(String(text))).length;
  };
  // The first one shows that tfjs would.
  const told = [await warnings('a'), await warnings('b', silenceNodeAdvice), await warnings('c')];
  warn.mockRestore();
  expect(told).toEqual([1, 0, 0]);
});
