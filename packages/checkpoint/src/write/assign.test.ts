import { expect, it } from 'vitest';
import { assignItems } from './assign.js';

const offer = (key: string, bytes: number) => ({ key, bytes });

it('replicas are distributed by bytes, and each piece is written once', () => {
  const all = [offer('a', 8), offer('b', 4), offer('c', 3), offer('d', 1)];
  const [first, second] = assignItems([all, all]);
  expect([...first!, ...second!].sort()).toEqual(['a', 'b', 'c', 'd']);
  expect([...first!]).toEqual(['a']);
});

it('the first rank writes a piece of which ranks hold different values', () => {
  const local = { ...offer('mean', 4), isOfFirst: true };
  const assigned = assignItems([[offer('w', 9)], [offer('w', 9), local], [local]]);
  expect(assigned.map((keys) => keys.has('mean'))).toEqual([false, true, false]);
  expect(assignItems([[offer('w', 9), local], [local]]).map((keys) => keys.has('mean'))).toEqual([
    true,
    false,
  ]);
});

it('a rank writes the pieces that only it holds', () => {
  const shards = [0, 1, 2].map((rank) => [offer(`w[${rank}]`, 9), offer('step', 1)]);
  const assigned = assignItems(shards);
  assigned.forEach((keys, rank) => expect(keys.has(`w[${rank}]`)).toBe(true));
  expect(assigned.filter((keys) => keys.has('step'))).toHaveLength(1);
});
