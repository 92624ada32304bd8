import { expect, it } from 'vitest';
import { DataLoader } from './data-loader.js';
import { padSequences } from './pad-sequences.js';
import { collect, expectNoTensorsLeft } from './testing/collect.js';

const code = (value: string) => expect.objectContaining({ code: value });
const samples = [
  { tokens: [1, 2, 3], labels: Int32Array.of(2, 3, 4), id: 7 },
  { tokens: [5], labels: Int32Array.of(6), id: 8 },
];

it('pads sequences to the longest one of the batch', async () => {
  const collate = padSequences({ pad: { tokens: 0, labels: -100 }, multipleOf: 2, lengthKey: 'length' });
  await expectNoTensorsLeft(async () => {
    expect(await collect(new DataLoader(samples, { batchSize: 2, collate }))).toEqual([
      {
        id: [7, 8],
        tokens: [
          [1, 2, 3, 0],
          [5, 0, 0, 0],
        ],
        labels: [
          [2, 3, 4, -100],
          [6, -100, -100, -100],
        ],
        length: [3, 1],
      },
    ]);
  });
});

it.each([
  ['sequences of different lengths in a sample', [{ tokens: [1], labels: [1, 2] }]],
  ['a missing key', [{ tokens: [1] }]],
  ['no record', [[1, 2]]],
  ['fractions in int32', [{ tokens: [1.5], labels: [1] }]],
  ['strings', [{ tokens: ['a'], labels: [1] }]],
  [
    'other keys in another sample',
    [
      { tokens: [1], labels: [1] },
      { tokens: [1], labels: [1], more: 1 },
    ],
  ],
  ['lists of lists', [{ tokens: [[1, 2]], labels: [1] }]],
])('refuses %s', (_, wrong) => {
  const collate = padSequences({ pad: { tokens: 0, labels: 0 } });
  expect(() => collate(wrong as never)).toThrow(code('ACC_DATA_COLLATE'));
});

it('refuses wrong options', () => {
  expect(() => padSequences({ pad: {} })).toThrow(code('ACC_INVALID_OPTION'));
  expect(() => padSequences({ pad: { a: 0.5 } })).toThrow(code('ACC_INVALID_OPTION'));
  expect(() => padSequences({ pad: { a: 0 }, lengthKey: 'a' })).toThrow(code('ACC_INVALID_OPTION'));
  const collate = padSequences({ pad: { a: 0 }, lengthKey: 'y' });
  expect(() => collate([{ a: [1], y: 7 }])).toThrow(code('ACC_DATA_COLLATE'));
  expect(() => padSequences({ pad: { a: 0 }, multiple: 8 } as never)).toThrow(code('ACC_UNKNOWN_OPTION'));
});
