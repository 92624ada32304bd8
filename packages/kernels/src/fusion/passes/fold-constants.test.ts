import { expect, it } from 'vitest';
import { GraphBuilder, operatorsOf } from '../testing.js';
import { foldConstants, MAX_FOLDED_ELEMENTS } from './fold-constants.js';
import { writeNewValues } from './write-new-values.js';

it('keeps what others take of calls on uploads and numbers, also through views', () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  const ones = graph.call('ones', [], { args: [[4, 8]] });
  const mask = graph.call('t', [graph.add(ones, graph.upload())], { isView: true });
  const scale = graph.call('sqrt', [graph.number(4)], { shape: [] });
  const result = graph.call('mul.Tensor', [graph.add(x, mask), scale]);
  const folded = foldConstants(graph.build(result));
  expect(operatorsOf(folded)).toEqual(['add', 'mul']);
  expect(folded.folded).toEqual([mask, scale]);
});

it('folds calls on captured tensors, but keeps none of their memory: their views run in every replay', () => {
  const graph = new GraphBuilder([1]);
  const full = graph.captured([8, 8]);
  const row = graph.call('slice.Tensor', [full], { isView: true });
  const hidden = graph.call('unsqueeze', [graph.captured()], { isView: true });
  const mask = graph.call('neg', [graph.call('sub.Tensor', [hidden, graph.upload()], { args: [1] })]);
  const folded = foldConstants(graph.build(graph.add(graph.add(graph.input(), mask), row)));
  expect(operatorsOf(folded)).toEqual(['slice', 'add', 'add']);
  expect(folded.folded).toEqual([mask]);
});

it('leaves a captured tensor to an action as it is, and what is computed from it', () => {
  const graph = new GraphBuilder();
  const given = graph.captured();
  const negated = graph.call('neg', [given]);
  graph.cut(given);
  const folded = foldConstants(graph.build(graph.add(graph.input(), negated)));
  expect(operatorsOf(folded)).toEqual(['neg', 'add']);
  expect(folded.folded).toEqual([]);
});

it.each<[string, (graph: GraphBuilder) => number]>([
  ['a random draw', (graph) => graph.call('rand', [], { effect: 'draws' })],
  ['an argument', (graph) => graph.call('neg', [graph.input()])],
  [
    'memory that is written in place, also through a view',
    (graph) => {
      const zeros = graph.call('zeros', []);
      graph.call('add_.Tensor', [graph.call('t', [zeros], { isView: true }), graph.input()], {
        effect: 'writes',
        results: [],
      });
      return zeros;
    },
  ],
])('computes in every replay what depends on %s', (_, make) => {
  const graph = new GraphBuilder();
  const built = graph.build(graph.call('neg', [graph.call('neg', [make(graph)])]));
  const folded = foldConstants(built);
  expect(operatorsOf(folded)).toEqual(operatorsOf(built));
  expect(folded.folded).toEqual([]);
});

it('computes new values of writes in every replay, and what depends on them', () => {
  const graph = new GraphBuilder();
  const zeros = graph.call('zeros', []);
  graph.write('add_.Tensor', [zeros, graph.upload()], [1]);
  const sum = graph.call('reshape', [zeros], { isView: true });
  const folded = foldConstants(writeNewValues(graph.build(graph.call('neg', [sum]))));
  expect(operatorsOf(folded)).toEqual(['add', 'reshape', 'neg']);
  expect(folded.folded).toEqual([zeros]);
});

it('gives each replay results of its own', () => {
  const graph = new GraphBuilder();
  const built = graph.build(graph.call('ones', []));
  expect(operatorsOf(foldConstants(built))).toEqual(['ones']);
});

it('keeps a bounded number of elements: the largest are computed in every replay', () => {
  const graph = new GraphBuilder([1]);
  const half = MAX_FOLDED_ELEMENTS / 2;
  const sizes = [half, half + 2, half - 1];
  const created = sizes.map((size) => graph.call('ones', [], { shape: [size] }));
  const results = created.map((value, i) =>
    graph.call('add.Tensor', [value, graph.input()], { shape: [sizes[i]!] }),
  );
  const folded = foldConstants(graph.build(...results));
  expect(folded.folded).toEqual([created[0], created[2]]);
  expect(operatorsOf(folded)).toEqual(['ones', 'add', 'add', 'add']);
});
