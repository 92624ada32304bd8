import { expect, it } from 'vitest';
import { GraphBuilder, operatorsOf } from '../testing.js';
import { removeIdentityViews } from './identity-views.js';

it('removes reshapes to the same shape and transposes of transposes', () => {
  const graph = new GraphBuilder([2, 2]);
  const x = graph.input();
  const same = graph.call('reshape', [x], { isView: true });
  const turned = graph.call('t', [same], { isView: true });
  const back = graph.call('t', [turned], { isView: true });
  const flat = graph.call('reshape', [back], { isView: true, shape: [4] });
  const result = graph.call('neg', [flat], { shape: [4] });
  const changed = removeIdentityViews(graph.build(result));
  expect(operatorsOf(changed)).toEqual(['t', 'reshape', 'neg']);
  expect(changed.segments[0]!.nodes.map(({ uses }) => uses)).toEqual([[x], [x], [flat]]);
});

it('removes transposes that together keep the order of dims, and no others', () => {
  const graph = new GraphBuilder([2, 2, 2]);
  const x = graph.input();
  const turn = (value: number, dims: number[]) =>
    graph.call('permute', [value], { isView: true, args: [dims] });
  const swap = (value: number, ...dims: number[]) =>
    graph.call('transpose.int', [value], { isView: true, args: dims });
  const rotated = turn(x, [1, 2, 0]);
  const twice = turn(rotated, [1, 2, 0]);
  const restored = turn(twice, [1, -1, 0]);
  const swapped = swap(x, 0, -1);
  const back = turn(swapped, [2, 1, 0]);
  const other = swap(rotated, 1, 2);
  const results = [rotated, restored, back, other].map((value) => graph.call('neg', [value]));
  const changed = removeIdentityViews(graph.build(...results));
  expect(operatorsOf(changed)).toEqual([
    'permute',
    'permute',
    'transpose',
    'transpose',
    ...Array(4).fill('neg'),
  ]);
  expect(changed.segments[0]!.nodes.slice(-4).map(({ uses }) => uses[0])).toEqual([rotated, x, x, other]);
});

it('keeps a view that is a result', () => {
  const graph = new GraphBuilder();
  const same = graph.call('reshape', [graph.input()], { isView: true });
  expect(operatorsOf(removeIdentityViews(graph.build(same)))).toEqual(['reshape']);
});
