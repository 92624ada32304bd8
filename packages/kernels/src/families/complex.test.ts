import * as fc from 'fast-check';
import {
  abs,
  add,
  complex,
  engine,
  fft,
  ifft,
  imag,
  mul,
  onesLike,
  real,
  sub,
  tensor,
  zerosLike,
} from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { finiteFloats, make, tensorOf } from '../testing/values.js';

const RUNS = { numRuns: 20 };
const parts = (shape: readonly number[]) =>
  fc.tuple(tensorOf('float32', shape, finiteFloats()), tensorOf('float32', shape, finiteFloats()));

describe('complex numbers', () => {
  it('are split and joined as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(parts([2, 3]), ([re, im]) =>
        expectSameAsCpu(() => {
          const z = complex(make(re), make(im));
          return [z, real(z), imag(z), abs(z), onesLike(z), zerosLike(z)];
        }),
      ),
      RUNS,
    );
  });

  it('add, subtract and multiply as on cpu, also with real numbers', async () => {
    await fc.assert(
      fc.asyncProperty(parts([2, 3]), parts([2, 1]), ([re, im], [re2, im2]) =>
        expectSameAsCpu(() => {
          const z = complex(make(re), make(im));
          const w = complex(make(re2), make(im2));
          return [add(z, w), sub(z, w), mul(z, w), add(z, make(re2)), mul(make(re2), z)];
        }),
      ),
      RUNS,
    );
  });

  it('are made of integers as on cpu', async () => {
    await expectSameAsCpu(() => complex(tensor([1, 2], [2], 'int32'), tensor([3, 4], [2], 'int32')));
  });
});

describe('Fourier transforms', () => {
  it.each([1, 2, 3, 8, 15])('of length %i are as on cpu', async (length) => {
    await fc.assert(
      fc.asyncProperty(parts([2, 2, length]), ([re, im]) =>
        expectSameAsCpu(
          () => {
            const z = complex(make(re), make(im));
            return [fft(z), ifft(z)];
          },
          { atol: 1e-4 },
        ),
      ),
      RUNS,
    );
  });

  it('of empty tensors are empty', async () => {
    await expectSameAsCpu(() => {
      const input = complex(tensor([], [0, 4]), tensor([], [0, 4]));
      return engine().runKernel('FFT', { input });
    });
  });
});
