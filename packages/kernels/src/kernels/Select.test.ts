import * as fc from 'fast-check';
import { engine, setBackend, tensor, where } from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { make, tensorOf, type RealDtype } from '../testing/values.js';

const DTYPES: readonly RealDtype[] = ['float32', 'int32', 'bool'];

describe('Select', () => {
  it('is as on cpu for every pair of dtypes', async () => {
    for (const dtypeT of DTYPES) {
      for (const dtypeE of DTYPES) {
        await fc.assert(
          fc.asyncProperty(
            tensorOf('bool', [2, 3]),
            tensorOf(dtypeT, [2, 3]),
            tensorOf(dtypeE, [3]),
            (condition, t, e) => expectSameAsCpu(() => where(make(condition), make(t), make(e))),
          ),
          { numRuns: 10 },
        );
      }
    }
  });

  it('selects rows with a condition of rank 1', async () => {
    await setBackend('acc');
    const inputs = {
      condition: tensor([1, 0], [2], 'bool'),
      t: tensor([1, 2, 3, 4], [2, 2]),
      e: tensor([5, 6, 7, 8], [2, 2]),
    };
    const chosen = engine().runKernel('Select', inputs) as ReturnType<typeof tensor>;
    expect([...chosen.dataSync()]).toEqual([1, 2, 7, 8]);
  });
});
