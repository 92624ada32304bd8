import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import type { Result } from './ranks/prepared-optimizer.js';

type Values = Record<string, number[] | string>;

const module = new URL('./ranks/prepared-optimizer.ts', import.meta.url);

async function results(ranks: number, backend: string): Promise<Record<string, Values>[]> {
  const all = await onRanks<Result>({ module, ranks, args: backend, env: { OMP_NUM_THREADS: '1' } });
  return all.map((result) => {
    expect(result.leaks).toEqual(result.leaks.map(() => 0));
    expect(result.backend).toBe(backend);
    return result.results;
  });
}

/** Cases with the same result as the plain one. */
const LIKE_PLAIN = [
  'withList',
  'computeGradients',
  'backward',
  'accumulated',
  'others',
  'onOneRank',
  'syncAtApply',
  'resumed',
];
const TRAINED = [...LIKE_PLAIN, 'withoutList', 'clippedAndAccumulated', 'usedLater'];

describe.each(['acc', 'cpu'])('on %s, with only the optimizer prepared', (backend) => {
  const bySize = new Map<number, Record<string, Values>[]>();
  beforeAll(async () => {
    for (const size of [1, 2, 3]) bySize.set(size, await results(size, backend));
  });
  const alone = () => bySize.get(1)![0]!;
  const expectSame = (a: Values, b: Values) => {
    for (const [key, values] of Object.entries(b)) {
      if (typeof values === 'string') expect(a[key]).toBe(values);
      else expectClose(a[key] as number[], values, { rtol: 1e-5, atol: 1e-6 });
    }
  };

  it('one process trains equally with minimize, computeGradients and backward, with and without windows', () => {
    for (const name of LIKE_PLAIN) {
      expectSame(alone()[name]!, alone()['withoutList']!);
    }
    expect(alone()['withoutList']!['w']).not.toEqual(alone()['usedLater']!['w']);
  });

  it.each([2, 3])('%i ranks with different initial values train like one process', (size) => {
    for (const rank of bySize.get(size)!) for (const name of TRAINED) expectSame(rank[name]!, alone()[name]!);
  });

  it.each([1, 2, 3])('on %i ranks an unprepared optimizer is prepared by its first step', (size) => {
    for (const rank of bySize.get(size)!) {
      expectSame(rank['unpreparedOptimizer']!, rank['clippedAndAccumulated']!);
      expectSame(rank['unpreparedOptimizerApplies']!, rank['clippedAndAccumulated']!);
    }
  });

  it('gradients of unprepared variables are refused by name on several ranks', () => {
    expect(alone()['refusedGradients']).toMatchObject({ code: 'none' });
    for (const size of [2, 3]) {
      for (const [rank, values] of bySize.get(size)!.entries()) {
        expect(values['refusedGradients']).toMatchObject({ code: 'ACC_NOT_PREPARED', names: 'w,b' });
        // No gradient was applied.
        expectClose(values['refusedGradients']!['b'] as number[], [0.3 + rank]);
      }
    }
  });

  it('variables that LocalSGD would not average, and lists that differ over ranks, are refused', () => {
    for (const size of [1, 2, 3]) {
      for (const values of bySize.get(size)!) {
        expect(values['refusedBesideLocalSgd']).toMatchObject({ code: 'ACC_NOT_AVERAGED', names: 'b' });
        const code = size === 1 ? 'none' : 'ACC_VARIABLES_DIFFER';
        expect(values['differentLists']).toMatchObject({ code });
      }
    }
  });

  // The other engines do not have 16-bit tensors.
  if (backend === 'acc') {
    it('mixed precision computes as for prepared variables', () => {
      for (const size of [1, 2, 3]) {
        for (const values of bySize.get(size)!) {
          expect(values['bf16']).toEqual(values['bf16Prepared']);
          expect(values['refusedInPrecision']).toMatchObject({ code: 'ACC_NOT_PREPARED', names: 'w,b' });
        }
      }
      expect(alone()['bf16']!['w']).not.toEqual(alone()['withoutList']!['w']);
    });
  }
});
