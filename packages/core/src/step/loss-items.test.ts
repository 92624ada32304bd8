import { scalar, setBackend } from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { expect, it } from 'vitest';
import { LossItems } from './loss-items.js';

it.each([
  [Number.NaN, 0, 'ACC_INVALID_ARGUMENT'],
  [Number.NaN, 2, undefined],
  [0, 0, undefined],
])('a loss of %d over %i items is rejected where gradients are mixed: %s', async (value, count, code) => {
  await setBackend('cpu');
  const items = new LossItems();
  const weight = items.weightOf(items.say(scalar(value), count), undefined);
  const require = () => items.requireNumber(weight);
  if (code) expect(require).toThrow(expect.objectContaining({ code }));
  else expect(require).not.toThrow();
});
