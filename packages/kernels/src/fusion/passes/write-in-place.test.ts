import { describe, expect, it } from 'vitest';
import { GraphBuilder, operatorsOf } from '../testing.js';
import { writeInPlace } from './write-in-place.js';
import { writeNewValues } from './write-new-values.js';

describe('writeInPlace', () => {
  it('restores the recorded calls that were not fused', () => {
    const graph = new GraphBuilder();
    const product = graph.call('mm', [graph.input(), graph.input()]);
    graph.write('relu_', [product]);
    graph.write('mul_.Scalar', [product], [2]);
    const built = graph.build(graph.call('mm', [product, product]), product);
    const { segments } = writeInPlace(writeNewValues(built));
    expect(segments[0]!.nodes.map(({ uses, results }) => [uses, results])).toEqual(
      built.segments[0]!.nodes.map(({ uses, results }) => [uses, results]),
    );
    expect(operatorsOf({ ...built, segments })).toEqual(operatorsOf(built));
    expect(segments[0]!.outputs).toEqual(built.segments[0]!.outputs);
  });

  type Change = (graph: GraphBuilder, created: number, written: number) => number[];
  it.each<[string, Change]>([
    ['later calls need', (graph, created, written) => [graph.add(created, written)]],
    ['is a result', (_graph, created, written) => [created, written]],
    [
      'has a view that later calls need',
      (graph, created, written) => {
        const view = graph.call('t', [created], { isView: true });
        return [graph.add(view, written)];
      },
    ],
  ])('does not write over a value that %s', (_what, change) => {
    const graph = new GraphBuilder();
    const created = graph.call('mm', [graph.input(), graph.input()]);
    const written = graph.call('relu', [created], { inPlace: 'aten::relu_' });
    const built = graph.build(...change(graph, created, written));
    expect(writeInPlace(built)).toEqual(built);
  });

  it('does not write over what comes from outside, or over a constant', () => {
    const graph = new GraphBuilder();
    const written = graph.call('relu', [graph.input()], { inPlace: 'aten::relu_' });
    const built = graph.build(written);
    expect(writeInPlace(built)).toEqual(built);
  });

  it('does not write over what it reads twice', () => {
    const graph = new GraphBuilder();
    const created = graph.call('mm', [graph.input(), graph.input()]);
    const built = graph.build(graph.call('index_add', [created, created], { inPlace: 'aten::index_add_' }));
    expect(writeInPlace(built)).toEqual(built);
  });
});
