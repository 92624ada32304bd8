import * as tf from '@tensorflow/tfjs';
import { expect, it, vi } from 'vitest';
import { activeLayer } from '@acc/kernels';
import { compileStep } from './compile.js';

vi.mock('#platform/variants', () => import('./platform/variants.browser.js'));

it('a page, which records no step, explains why', async () => {
  await tf.setBackend('cpu');
  const step = compileStep((x: tf.Tensor) => x.add(1), {
    kernels: activeLayer({ hasNative: false }),
    fuse: true,
    surroundings: () => '',
    microBatches: () => 0,
    obstacle: () => undefined,
    onCall: () => {},
  });
  expect(step.explain()).toBe('The step is not replayed yet.');
  expect(step(tf.scalar(1)).dataSync()[0]).toBe(2);
  expect(step.explain()).toBe(`The step runs without replay: ${step.reason}.`);
  expect(step.reason).toContain("'cpu'");
});
