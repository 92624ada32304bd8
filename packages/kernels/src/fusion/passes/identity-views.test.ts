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

it('keeps a view that is a result', () => {
  const graph = new GraphBuilder();
  const same = graph.call('reshape', [graph.input()], { isView: true });
  expect(operatorsOf(removeIdentityViews(graph.build(same)))).toEqual(['reshape']);
});
