import * as fc from 'fast-check';
import {
  fill,
  linspace,
  onesLike,
  range,
  setBackend,
  tensor,
  zerosLike,
  type DataType,
} from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { make, tensorOf } from '../testing/values.js';

const RUNS = { numRuns: 20 };

describe('kernels that create tensors', () => {
  it.each(['float32', 'int32', 'bool'] as const)(
    'OnesLike and ZerosLike of %s are as on cpu',
    async (dtype) => {
      await fc.assert(
        fc.asyncProperty(tensorOf(dtype, [2, 3]), (x) =>
          expectSameAsCpu(() => [onesLike(make(x)), zerosLike(make(x))]),
        ),
        RUNS,
      );
    },
  );

  it.each([
    [[2, 3], 1.5, 'float32'],
    [[], -0.5, 'float32'],
    [[2], Infinity, 'float32'],
    [[2], NaN, 'float32'],
    [[2], 1e39, 'float32'],
    [[0, 2], 1, 'float32'],
    [[2], 3.7, 'int32'],
    [[2], 4e9, 'int32'],
    [[2], NaN, 'int32'],
    [[2], 1, 'bool'],
    [[2], 0, 'bool'],
    [[2], 7, undefined],
  ] as const)('Fill of %o with %d as %s is as on cpu', async (shape, value, dtype) => {
    await expectSameAsCpu(() => fill([...shape] as [number], value, dtype as DataType as 'float32'));
  });

  it('Fill with a string encodes it as UTF-8', async () => {
    await expectSameAsCpu(() => fill([2], 'ä', 'string'));
  });

  it.each(['float32', 'int32'] as const)('Range of %s is as on cpu', async (dtype) => {
    const bounds = fc.integer({ min: -20, max: 20 });
    const steps = fc.oneof(fc.integer({ min: -4, max: 4 }), fc.constantFrom(0.5, -0.5, 1.5, 0.1));
    await fc.assert(
      fc.asyncProperty(bounds, bounds, steps, (start, stop, step) => {
        fc.pre(step !== 0);
        return expectSameAsCpu(() => range(start, stop, step, dtype));
      }),
      { numRuns: 60 },
    );
  });

  it.each([1, 2, 10, 101])('LinSpace of %i is as on cpu', async (count) => {
    await expectSameAsCpu(() => [linspace(-1, 2, count), linspace(5, -3, count)], { rtol: 1e-4, atol: 1e-4 });
  });

  it('LinSpace ends exactly at its stop value', async () => {
    await setBackend('acc');
    const values = linspace(0, 1, 100_000);
    expect(values.dataSync()[99_999]).toBe(1);
    values.dispose();
  });
});

it.each(['float32', 'int32', 'bool'] as const)('%s in memory that threads share', async (dtype) => {
  const memory = new SharedArrayBuffer(12);
  const views = {
    float32: new Float32Array(memory),
    int32: new Int32Array(memory),
    bool: new Uint8Array(memory, 0, 3),
  };
  const shared = views[dtype];
  shared[1] = 1;
  // tfjs's types know no shared memory.
  await expectSameAsCpu(() => tensor(shared as never as number[], [3], dtype).clone());
});
