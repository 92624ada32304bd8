import type { Variable } from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import type { Collective } from '@acc/contract';
import { forwardRanksOf, installGradientDriver } from './driver.js';
import type { FindRanks, ForwardRanks } from './forward-ranks.js';

it('finds the ranks of the first variable that any Accelerator has divided, until it ends', () => {
  const [whole, divided, other] = [0, 1, 2].map(() => ({})) as [Variable, Variable, Variable];
  const [ranks, others] = [1, 2].map((size): ForwardRanks => {
    const group = { size } as Collective;
    return { sameRows: group, all: group, release: () => {} };
  });
  const install = (find?: FindRanks) => installGradientDriver({ begin: () => undefined }, find);
  const ends = [
    install(),
    install((each) => (each === divided ? ranks : undefined)),
    install((each) => (each === other ? others : undefined)),
  ];
  expect(forwardRanksOf([whole])).toBeUndefined();
  expect(forwardRanksOf([whole, divided])).toBe(ranks);
  expect(forwardRanksOf([whole, other])).toBe(others);
  ends[1]!();
  expect(forwardRanksOf([whole, divided])).toBeUndefined();
  expect(forwardRanksOf([other])).toBe(others);
  for (const end of ends) end();
});
