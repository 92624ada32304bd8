import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { liveTensors, tensorFrom, type Tensor } from '@acc/native';
import { HalfMatrix } from './half.js';
import { Int4Matrix } from './int4.js';
import { Int8Matrix } from './int8.js';
import { cast } from './operators.js';
import { packNibbles, unpackNibbles } from './nibbles.js';
import { Nf4Matrix } from './nf4.js';
import type { Granularity } from '@acc/kernels';
import type { PackedMatrix } from './packed-matrix.js';

interface Fixture {
  readonly nf4: { readonly bytes: number[]; readonly absmax: number[]; readonly values: number[] };
  readonly int4: { readonly numbers: number[]; readonly values: number[] };
}

/** The results of bitsandbytes and torchao for {@link testValues}: fixtures/formats.py. */
const { nf4, int4 } = JSON.parse(
  readFileSync(new URL('../../fixtures/formats.json', import.meta.url), 'utf8'),
) as Fixture;

/** The values of fixtures/formats.py: groups of 64 of several magnitudes, one of them of zeros. */
function testValues(): Float32Array {
  let state = 1;
  return Float32Array.from({ length: 4 * 128 }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const scale = i >> 6 === 3 ? 0 : 2 ** ((i >> 6) - 4);
    return (Math.floor(state / 2 ** 8) / 2 ** 23 - 1) * scale;
  });
}

function randomValues(size: number): Float32Array {
  let state = 7;
  return Float32Array.from({ length: size }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

const matrixFrom = (values: Float32Array, rows: number): Tensor =>
  tensorFrom(values, 'float32', [rows, values.length / rows]);

const floatsOf = (bits: readonly number[]): Float32Array => new Float32Array(Int32Array.from(bits).buffer);

const read = (x: Tensor): number[] => {
  using held = x;
  return [...(held.read('float32') as Float32Array)];
};

function dispose({ tensors }: PackedMatrix): void {
  for (const tensor of tensors) tensor.dispose();
}

/** Nearest, ties to even. */
function nearestEven(x: number): number {
  const below = Math.floor(x);
  const part = x - below;
  if (part !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}

/** int8 by the definition, one value after the other, in float32. */
function int8Reference(values: Float32Array, rows: number, granularity: Granularity): number[] {
  const columns = values.length / rows;
  const span = granularity === 'tensor' ? values.length : granularity === 'row' ? columns : granularity.group;
  return [...values].map((value, i) => {
    const begin = Math.floor(i / span) * span;
    const largest = Math.max(...values.slice(begin, begin + span).map(Math.abs), 1e-30);
    const scale = Math.fround(largest / 127);
    const number = nearestEven(Math.fround(value / scale));
    // Without the sign of zero, which whole numbers do not have.
    return Math.fround(Math.min(127, Math.max(-127, number)) * scale) + 0;
  });
}

const GRANULARITIES: readonly Granularity[] = ['tensor', 'row', { group: 32 }, { group: 64 }];

describe('int8', () => {
  it.each(GRANULARITIES)('has the values of its definition (%o)', (granularity) => {
    using matrix = matrixFrom(testValues(), 4);
    const packed = Int8Matrix.of(matrix, { granularity, dynamic: false });
    expect(packed.tensors[0]).toMatchObject({ dtype: 'int8', shape: [4, 128] });
    expect(read(packed.values())).toEqual(int8Reference(testValues(), 4, granularity));
    using rows = tensorFrom(Int32Array.of(3, 0), 'int32', [2]);
    const values = read(packed.values());
    expect(read(packed.rows(rows))).toEqual([...values.slice(384), ...values.slice(0, 128)]);
    dispose(packed);
  });
});

describe('nf4', () => {
  it('has the bytes, scales and values of bitsandbytes, bit for bit', () => {
    using matrix = matrixFrom(testValues(), 4);
    const packed = Nf4Matrix.of(matrix, { group: 64 });
    expect([...(packed.tensors[0].read() as Uint8Array)]).toEqual(nf4.bytes);
    expect(packed.tensors[1].read()).toEqual(floatsOf(nf4.absmax));
    expect(read(packed.values())).toEqual([...floatsOf(nf4.values)]);
    dispose(packed);
  });
});

describe('int4', () => {
  it.each([false, true])('has the numbers and values of torchao (for products: %s)', (forProducts) => {
    using matrix = matrixFrom(testValues(), 4);
    const packed = Int4Matrix.of(matrix, 'nearest', { granularity: { group: 32 }, forProducts });
    using numbers = unpackNibbles(packed.tensors[0]);
    expect([...(numbers.read() as Uint8Array)]).toEqual(int4.numbers);
    expect(read(packed.values())).toEqual([...floatsOf(int4.values)]);
    dispose(packed);
  });

  it('reads the same values from the tiles of the kernel as from plain pairs', () => {
    using matrix = matrixFrom(randomValues(128 * 64), 128);
    const plain = Int4Matrix.of(matrix, 'nearest', { granularity: { group: 32 }, forProducts: false });
    const tiled = Int4Matrix.of(matrix, 'nearest', { granularity: { group: 32 }, forProducts: true });
    expect(read(tiled.values())).toEqual(read(plain.values()));
    using index = tensorFrom(Int32Array.of(70, 2), 'int32', [2]);
    expect(read(tiled.rows(index))).toEqual(read(plain.rows(index)));
    dispose(plain);
    dispose(tiled);
  });

  it('has smaller errors by HQQ where few values are far from the others', () => {
    const values = randomValues(16 * 64).map((value, i) => (i % 64 === 5 ? value * 9 : value));
    using matrix = matrixFrom(values, 16);
    const errorBy = (algorithm: 'nearest' | 'hqq') => {
      const packed = Int4Matrix.of(matrix, algorithm, { granularity: { group: 64 }, forProducts: false });
      const found = read(packed.values());
      dispose(packed);
      return found.reduce((sum, value, i) => sum + Math.abs(value - values[i]!), 0);
    };
    expect(errorBy('hqq')).toBeLessThan(0.99 * errorBy('nearest'));
  });
});

describe('nibbles', () => {
  it('have the even column above the odd one', () => {
    using numbers = tensorFrom(Uint8Array.of(1, 15, 0, 7), 'uint8', [2, 2]);
    using bytes = packNibbles(numbers);
    expect([...(bytes.read() as Uint8Array)]).toEqual([0x1f, 0x07]);
    using back = unpackNibbles(bytes);
    expect(back.read()).toEqual(numbers.read());
  });
});

const PACKED: Readonly<Record<string, (matrix: Tensor) => PackedMatrix>> = {
  bf16: (matrix) => HalfMatrix.of(matrix, 'bf16'),
  'int8 by row': (matrix) => Int8Matrix.of(matrix, { granularity: 'row', dynamic: false }),
  'int8 by tensor': (matrix) => Int8Matrix.of(matrix, { granularity: 'tensor', dynamic: false }),
  'int8 with int8 input': (matrix) => Int8Matrix.of(matrix, { granularity: 'row', dynamic: true }),
  'int4 in tiles': (matrix) =>
    Int4Matrix.of(matrix, 'nearest', { granularity: { group: 32 }, forProducts: true }),
  'int4 in pairs': (matrix) =>
    Int4Matrix.of(matrix, 'nearest', { granularity: { group: 32 }, forProducts: false }),
};

describe.each(Object.entries(PACKED))('the product of %s', (_, pack) => {
  /** Around the number of rows from which another kernel is taken. */
  it.each([1, 8, 9, 513])('is that of its values, to the rounding of 16 or 8 bits (%i rows)', (count) => {
    using matrix = matrixFrom(randomValues(64 * 96), 64);
    const x = randomValues(count * 96);
    const packed = pack(matrix);
    const values = read(packed.values());
    using input = matrixFrom(x, count);
    const before = liveTensors();
    const found = read(packed.product!(input)!);
    expect(liveTensors()).toBe(before);
    for (let row = Math.max(0, count - 9); row < count; row++) {
      for (let channel = 0; channel < 64; channel++) {
        let sum = 0;
        let size = 0;
        for (let k = 0; k < 96; k++) {
          sum += x[row * 96 + k]! * values[channel * 96 + k]!;
          size += Math.abs(x[row * 96 + k]! * values[channel * 96 + k]!);
        }
        expect(Math.abs(found[row * 64 + channel]! - sum)).toBeLessThan(0.004 * size);
      }
    }
    dispose(packed);
  });
});

it('sums of whole numbers that exceed float16 are scaled before they become float16', () => {
  using matrix = matrixFrom(new Float32Array(64 * 96).fill(0.5), 64);
  using wide = matrixFrom(new Float32Array(9 * 96).fill(8), 9);
  using x = cast(wide, 'float16');
  for (const dynamic of [false, true]) {
    const packed = Int8Matrix.of(matrix, { granularity: 'row', dynamic });
    const product = packed.product(x)!;
    expect(product.dtype).toBe('float16');
    using float32 = cast(product, 'float32');
    product.dispose();
    for (const value of float32.read()) expect(Math.abs((value as number) - 384)).toBeLessThan(4);
    dispose(packed);
  }
});

it('rows of odd lengths never reach the kernel that reads beyond them', () => {
  using matrix = matrixFrom(randomValues(7 * 5), 7);
  const packed = Int8Matrix.of(matrix, { granularity: 'row', dynamic: false });
  using x = matrixFrom(randomValues(5), 1);
  const values = read(packed.values());
  const sum = (channel: number) =>
    randomValues(5).reduce((total, value, k) => total + value * values[channel * 5 + k]!, 0);
  read(packed.product(x)!).forEach((value, channel) => expect(value).toBeCloseTo(sum(channel), 1.5));
  dispose(packed);
});
