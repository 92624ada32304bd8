import { expect, it } from 'vitest';
import { GraphBuilder, operatorsOf } from '../testing.js';
import { mergeCommonSubexpressions } from './common-subexpressions.js';

it('computes once what is computed again, through chains, views and equal numbers', () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  const chain = () => graph.call('t', [graph.call('mul.Tensor', [x, graph.number(3)])], { isView: true });
  const result = graph.add(chain(), chain());
  const changed = mergeCommonSubexpressions(graph.build(result));
  expect(operatorsOf(changed)).toEqual(['mul', 't', 'add']);
  const [, turned, sum] = changed.segments[0]!.nodes;
  expect(sum!.uses).toEqual([turned!.results[0], turned!.results[0]]);
});

it.each<[string, (graph: GraphBuilder, x: number) => number[]]>([
  ['other arguments', (graph, x) => [0, -0].map((n) => graph.call('add.Scalar', [x], { args: [n, 1] }))],
  ['random draws', (graph, x) => [0, 1].map(() => graph.call('bernoulli', [x], { effect: 'draws' }))],
  [
    'arguments that are not described',
    (graph, x) => [0, 1].map(() => graph.call('clamp', [x], { args: [{ other: 'Scalar' }] })),
  ],
  [
    'memory that is written in place, also through a view',
    (graph, x) => {
      const [a, b] = [graph.call('neg', [x]), graph.call('neg', [x])];
      const view = graph.call('t', [a], { isView: true });
      graph.call('mul_.Tensor', [view, x], { effect: 'writes', results: [] });
      return [a, b];
    },
  ],
])('keeps calls that differ by %s', (_what, make) => {
  const graph = new GraphBuilder();
  const [a, b] = make(graph, graph.input()) as [number, number];
  const built = graph.build(graph.add(a, b));
  expect(operatorsOf(mergeCommonSubexpressions(built))).toEqual(operatorsOf(built));
});

it('keeps two results of the step apart', () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  const built = graph.build(graph.call('neg', [x]), graph.call('neg', [x]));
  expect(operatorsOf(mergeCommonSubexpressions(built))).toEqual(['neg', 'neg']);
});

it('does not keep large values longer', () => {
  const graph = new GraphBuilder([1024, 1024]);
  const x = graph.input();
  const first = graph.call('sum', [graph.call('neg', [x])], { shape: [] });
  const second = graph.call('sum', [graph.call('neg', [x])], { shape: [], args: [1] });
  const built = graph.build(graph.call('add.Tensor', [first, second], { shape: [], args: [1] }));
  expect(operatorsOf(mergeCommonSubexpressions(built))).toEqual(['neg', 'sum', 'neg', 'sum', 'add']);
});
