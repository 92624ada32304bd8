import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { quantizedNames, quantizeValues, type StoredNumbers } from './quantized-weights.js';

interface Case {
  readonly name: string;
  readonly dtype: StoredNumbers;
  readonly values: readonly number[];
  readonly numbers: readonly number[];
  readonly scale?: number;
  readonly min?: number;
}

/** Written by fixtures/tfjs_quantization.py. */
const CASES = JSON.parse(
  readFileSync(new URL('../../fixtures/tfjs_quantization.json', import.meta.url), 'utf8'),
) as readonly Case[];

it("numbers and scales are those of tfjs's converter, bit for bit", () => {
  expect(CASES).toHaveLength(24);
  for (const { name, dtype, values, numbers, ...scaling } of CASES) {
    const { data, quantization } = quantizeValues(name, Float32Array.from(values), dtype);
    const found = dtype === 'uint8' ? new Uint8Array(data) : new Uint16Array(data);
    expect({ name, ...quantization, numbers: [...found] }).toEqual({ name, dtype, ...scaling, numbers });
  }
});

it('an empty weight has no numbers', () => {
  const { data, quantization } = quantizeValues('w', new Float32Array(0), 'uint8');
  expect([data.byteLength, quantization]).toEqual([0, { dtype: 'uint8', scale: 1, min: 0 }]);
});

it('the range of a weight may be larger than float32 holds', () => {
  const { data, quantization } = quantizeValues('w', Float32Array.of(-3e38, 0, 3e38), 'uint8');
  expect([...new Uint8Array(data)]).toEqual([0, 128, 255]);
  expect(quantization.scale).toBe((2 * Math.fround(3e38)) / 255);
});

it.each([
  ['uint8', [0, NaN]],
  ['uint16', [-Infinity, 0]],
  ['float16', [NaN, 1]],
  ['float16', [1, 65_520]],
] as const)('%s does not hold %j', (dtype, values) => {
  const quantize = () => quantizeValues('dense/kernel', Float32Array.from(values), dtype);
  expect(quantize).toThrow(
    expect.objectContaining({
      code: 'ACC_QUANTIZE_VALUES',
      message: expect.stringMatching(/'dense\/kernel' has values that \w+ does not hold/) as string,
    }) as Error,
  );
});

const WEIGHTS = [
  { name: 'dense/kernel', dtype: 'float32' },
  { name: 'dense/bias', dtype: 'float32' },
  { name: 'block/dense/kernel', dtype: 'float32' },
  { name: 'steps', dtype: 'int32' },
] as const;

it.each([
  ['uint8', { 'dense/kernel': 'uint8', 'dense/bias': 'uint8', 'block/dense/kernel': 'uint8' }],
  [{ uint16: ['*/kernel'] }, { 'dense/kernel': 'uint16' }],
  [
    { uint8: ['**/kernel'], uint16: undefined, float16: true },
    { 'dense/kernel': 'uint8', 'dense/bias': 'float16', 'block/dense/kernel': 'uint8' },
  ],
  [{}, {}],
] as const)('the weights of %j', (option, expected) => {
  expect(Object.fromEntries(quantizedNames(option, WEIGHTS))).toEqual(expected);
});

it.each([
  ['int8', /has the type 'int8'/],
  [['uint8'], /it is \["uint8"\]/],
  [1, /it is 1/],
  [{ uint8: '**' }, /'uint8' is "\*\*"/],
  [{ uint8: false }, /'uint8' is false/],
  [{ uint8: ['steps'] }, /no weight of float32 has a name that matches 'steps'/],
  [{ uint8: ['**/kernel'], float16: ['dense/*'] }, /'dense\/kernel' is to be stored as uint8 and as float16/],
  [{ uint8: true, float16: true }, /two types are for all other weights/],
] as const)('%j is refused', (option, message) => {
  expect(() => quantizedNames(option as never, WEIGHTS)).toThrow(
    expect.objectContaining({
      code: 'ACC_INVALID_OPTION',
      message: expect.stringMatching(message) as string,
    }) as Error,
  );
});
