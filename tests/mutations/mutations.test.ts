// Damaged files of each format are read. The result is a value, or an AccError that names the file.
// For other damage: ACC_TEST_SEED=12345 npx vitest run …
// sharp changes the environment of the process, which each file leaves as it was before its tests.
import 'sharp';
import { afterAll, expect, inject, it } from 'vitest';
import { Reader } from './reader.js';

const SEED = Number(process.env['ACC_TEST_SEED'] ?? 1);
const COUNT = inject('isRelease') ? 1000 : 24;

const FORMATS = [
  ...['WebDataset', 'TFRecord', 'Arrow', 'Parquet', 'JSON Lines', 'CSV', 'tokens', 'images'],
  ...['safetensors', 'pretrained models', 'model.json', 'checkpoints'],
];

const reader = new Reader();
afterAll(() => reader[Symbol.asyncDispose]());

it.each(FORMATS)('%s', { timeout: 600_000 }, async (format) => {
  const mutations = Array.from({ length: COUNT }, (_, i) => i);
  const { values, errors, failures } = await reader.run({ format, seed: SEED, mutations });
  expect(failures).toEqual([]);
  expect(values + errors).toBe(COUNT);
  expect(errors, 'some damage is noticed').toBeGreaterThan(COUNT / 10);
});
