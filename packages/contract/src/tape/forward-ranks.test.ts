import type { Variable } from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import type { Collective } from '../collective/collective.js';
import { forwardRanksOf, knowForwardRanks, type ForwardRanks } from './forward-ranks.js';

it('finds the ranks of the first variable that any Accelerator has divided, until it ends', () => {
  const [whole, divided, other] = [0, 1, 2].map(() => ({})) as [Variable, Variable, Variable];
  const [ranks, others] = [1, 2].map((size): ForwardRanks => {
    const group = { size } as Collective;
    return { sameRows: group, all: group, release: () => {} };
  });
  const ends = [
    knowForwardRanks((each) => (each === divided ? ranks : undefined)),
    knowForwardRanks((each) => (each === other ? others : undefined)),
  ];
  expect(forwardRanksOf([whole])).toBeUndefined();
  expect(forwardRanksOf([whole, divided])).toBe(ranks);
  expect(forwardRanksOf([whole, other])).toBe(others);
  ends[0]!();
  expect(forwardRanksOf([whole, divided])).toBeUndefined();
  expect(forwardRanksOf([other])).toBe(others);
  ends[1]!();
});
