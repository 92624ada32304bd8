import { expect, it } from 'vitest';
import { ago, axisLabels, withUnit } from './format.js';

it.each([
  [56.123, 'ms', '56.12 ms'],
  [0, '', '0'],
  [0.000012, '', '1.20e-5'],
  [123_456, '/s', '123,456 /s'],
  [2.5e9, '', '2.50e9'],
  [-0.5, '', '-0.5'],
  [0, 'B', '0 B'],
  [1_234_567, 'B', '1.23 MB'],
  [5e15, 'B', '5000 TB'],
])('%d %s is written as %s', (value, unit, text) => {
  expect(withUnit(value, unit)).toBe(text);
});

it.each([
  [1000, 'just now'],
  [3 * 60_000, '3 min ago'],
  [5 * 3_600_000, '5 h ago'],
  [72 * 3_600_000, '3 days ago'],
])('%d ms: %s', (ms, text) => {
  expect(ago(ms)).toBe(text);
});

it.each([
  [[0, 0.00005, 0.0001], 0.00005, '', ['0', '5.0e-5', '1.0e-4']],
  [[0, 0.5, 1], 0.5, '', ['0.0', '0.5', '1.0']],
  [[250, 500], 250, 'ms', ['250', '500']],
  [[22.31e6, 22.32e6], 0.01e6, 'B', ['22.31 MB', '22.32 MB']],
  [[0, 2e9], 1e9, 'B', ['0 GB', '2 GB']],
])('the labels of an axis %j, %d apart', (values, distance, unit, labels) => {
  expect(axisLabels(values, distance, unit)).toEqual(labels);
});
