import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EightBitProduct, Float8Rounding } from '@acc/contract';
import { operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';
import { fp8Product, type Float8ProductOptions } from './fp8-product.js';

interface Layer {
  readonly y: string;
  readonly dx: string;
  readonly dw: string;
}
/** Of torchao: the result and the gradients of a layer of 18 inputs and 5 outputs, for 7 rows. */
const { recipes, ...given } = JSON.parse(
  readFileSync(new URL('../../fixtures/torchao_float8.json', import.meta.url), 'utf8'),
) as { x: string; w: string; dy: string; recipes: Record<string, Layer> };

const numbers = (base64: string): Float32Array =>
  new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer);
const matrix = (base64: string, shape: [number, number]): NativeTensor =>
  tensorFrom(numbers(base64), 'float32', shape);
const toDtype = operator('aten::to.dtype');
const transpose = operator('aten::t');
const x = matrix(given.x, [7, 18]);
const w = matrix(given.w, [18, 5]);
const dy = matrix(given.dy, [7, 5]);

interface Case {
  readonly product: EightBitProduct;
  readonly factors: readonly [NativeTensor, NativeTensor];
  readonly turns: '' | 'a' | 'b' | 'ab';
  readonly dtype: Float8ProductOptions['dtype'];
}

const PRODUCTS: Readonly<Record<keyof Layer, Case>> = {
  y: { product: 'forward', factors: [x, w], turns: '', dtype: 'bfloat16' },
  dx: {
    product: 'inputGradient',
    factors: [dy, w],
    turns: 'b',
    dtype: 'bfloat16',
  },
  dw: {
    product: 'weightGradientB',
    factors: [x, dy],
    turns: 'a',
    dtype: 'float32',
  },
};

function compute(
  { product, factors: [a, b], turns, dtype }: Case,
  rounding: Float8Rounding,
  isEmulated: boolean,
): number[] {
  using result = fp8Product(a, b, {
    transposeA: turns.includes('a'),
    transposeB: turns.includes('b'),
    eightBits: { ...rounding, product },
    dtype,
    isEmulated,
  });
  return [...(result.read('float32') as Float32Array)];
}

function expectEqual(found: readonly number[], expected: readonly number[], dtype: string): void {
  const largest = Math.max(...expected.map(Math.abs));
  // Half a step of bfloat16, and the order of sums.
  const step = dtype === 'bfloat16' ? 2 ** -8 : 0;
  found.forEach((value, i) =>
    expect(Math.abs(value - expected[i]!)).toBeLessThanOrEqual(
      step * Math.abs(expected[i]!) + 1e-6 * largest,
    ),
  );
}

const roundingOf = (name: string): Float8Rounding => ({
  format: 'fp8',
  recipe: name.startsWith('rowwise') ? 'rowwise' : 'tensorwise',
  gradients: name.includes('e4m3') ? 'e4m3' : 'e5m2',
  powerOfTwoScales: name.startsWith('rowwise') || name.includes('power'),
});

describe.each(Object.entries(recipes))('%s', (name, layer) => {
  it.each(['y', 'dx', 'dw'] as const)("%s is torchao's", (key) => {
    const each = PRODUCTS[key];
    const expected = [...numbers(layer[key])];
    const found = compute(each, roundingOf(name), true);
    expectEqual(found, expected, each.dtype);
    // The transposed factors give the same.
    const [a, b] = each.factors;
    const factors = [transpose(a), transpose(b)] as const;
    const turns = { '': 'ab', a: 'b', b: 'a', ab: '' }[each.turns] as Case['turns'];
    expectEqual(compute({ ...each, factors, turns }, roundingOf(name), true), found, each.dtype);
  });

  it('_scaled_mm gives the same', () => {
    for (const each of Object.values(PRODUCTS)) {
      const emulated = compute(each, roundingOf(name), true);
      const found = compute(each, roundingOf(name), false);
      const largest = Math.max(...emulated.map(Math.abs));
      found.forEach((value, i) => expect(Math.abs(value - emulated[i]!)).toBeLessThan(0.01 * largest));
    }
  });
});

it('rounds what bfloat16 holds, and zeros', () => {
  const rounding = roundingOf('tensorwise');
  const short = { ...PRODUCTS.y, factors: [toDtype(x, 'bfloat16'), w] as const };
  expect(compute(short, rounding, true)).toEqual(compute(PRODUCTS.y, rounding, true));
  const zeros = tensorFrom(new Float32Array(7 * 18), 'float32', [7, 18]);
  expect(compute({ ...PRODUCTS.y, factors: [zeros, w] }, rounding, true)).toEqual(Array(35).fill(0));
});
