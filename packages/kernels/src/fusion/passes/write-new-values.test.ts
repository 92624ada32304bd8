import { describe, expect, it } from 'vitest';
import { Report } from '../report.js';
import { GraphBuilder, operatorsOf } from '../testing.js';
import { withNodes } from '../graph.js';
import { fuseElementwise } from './fuse-elementwise.js';
import { RecomputeReport } from './recompute/recompute-report.js';
import { writeInPlace } from './write-in-place.js';
import { writeNewValues } from './write-new-values.js';

describe('writeNewValues', () => {
  it('gives later calls and outputs the new value, so that chains can be fused', () => {
    const graph = new GraphBuilder();
    const x = graph.input();
    const power = graph.call('neg', [x]);
    graph.write('mul_.Tensor', [power, x]);
    graph.write('add_.Tensor', [power, power], [1]);
    const built = graph.build(power, graph.call('abs', [power]));
    const changed = writeNewValues(built);
    expect(operatorsOf(changed)).toEqual(['neg', 'mul', 'add', 'abs']);
    const [, product, sum, root] = changed.segments[0]!.nodes;
    expect(product).toMatchObject({ uses: [power, x], effect: 'none', isView: false });
    const [first, second] = [product!.results[0]!, sum!.results[0]!];
    expect([first, second]).toEqual([built.values.length, built.values.length + 1]);
    expect(sum).toMatchObject({ uses: [first, first], args: [{ value: first }, { value: first }, 1] });
    expect(root!.uses).toEqual([second]);
    expect(changed.segments[0]!.outputs).toEqual([second, root!.results[0]]);
    expect(changed.values[second]).toEqual(built.values[power]);
    expect(changed.elements).toHaveLength(changed.values.length);
    expect(operatorsOf(fuseElementwise('exact', new Report(), new RecomputeReport())(changed))).toEqual([
      '[neg mul add abs]',
    ]);
  });

  it('also writes new values instead of views whose memory nobody else reads', () => {
    const graph = new GraphBuilder();
    const product = graph.call('mm', [graph.input(), graph.input()]);
    const before = graph.call('abs', [graph.call('reshape', [product], { isView: true })]);
    const view = graph.call('reshape', [product], { isView: true });
    graph.write('relu_', [view]);
    const after = graph.call('reshape', [view], { isView: true });
    const changed = writeNewValues(graph.build(before, after));
    expect(operatorsOf(changed)).toEqual(['mm', 'reshape', 'abs', 'reshape', 'relu', 'reshape']);
    const { nodes } = changed.segments[0]!;
    expect(nodes.at(-1)!.uses).toEqual(nodes.at(-2)!.results);
  });

  it.each(['aten::addmm', 'acc::addmm'])('adds products to a sum that is a new value: %s', (op) => {
    const graph = new GraphBuilder();
    const [a, b] = [graph.input(), graph.input()];
    const sum = graph.call('mm', [a, b]);
    graph.write(`${op.split('::')[1]}_`, [sum, a, b]);
    const built = graph.build(sum);
    const named = withNodes(built, ({ nodes }) =>
      nodes.map((node) =>
        node.kind === 'call' && node.effect === 'writes' ? { ...node, op: `${op}_` } : node,
      ),
    );
    const changed = writeNewValues(named);
    expect(changed.segments[0]!.nodes[1]).toMatchObject({ op, inPlace: `${op}_`, uses: [sum, a, b] });
    expect(writeInPlace(changed).segments[0]!.nodes[1]).toMatchObject({ op: `${op}_`, effect: 'writes' });
  });

  it('continues with the new value in later segments', () => {
    const graph = new GraphBuilder();
    const created = graph.call('neg', [graph.input()]);
    graph.write('mul_.Scalar', [created], [2]);
    graph.cut(created);
    const result = graph.call('abs', [created]);
    const changed = writeNewValues(graph.build(result));
    const [first, second] = changed.segments;
    expect(operatorsOf(changed)).toEqual(['neg', 'mul', 'abs']);
    expect(first!.outputs).toEqual(first!.nodes[1]!.results);
    expect(second!.nodes[0]!.uses).toEqual(first!.outputs);
  });

  type Make = (graph: GraphBuilder, x: number) => number[];
  it.each<[string, Make]>([
    [
      'what comes from outside',
      (graph, x) => {
        graph.write('neg_', [x]);
        return [x];
      },
    ],
    [
      'a tensor that JavaScript made',
      (graph) => {
        const upload = graph.upload();
        graph.write('neg_', [upload]);
        return [upload];
      },
    ],
    [
      'a view of what comes from outside',
      (graph, x) => {
        const view = graph.call('reshape', [x], { isView: true });
        graph.write('neg_', [view]);
        return [view];
      },
    ],
    [
      'a value of which a view is used later',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        const view = graph.call('t', [created], { isView: true });
        graph.write('neg_', [created]);
        return [graph.call('abs', [view])];
      },
    ],
    [
      'a view of a value that is used later',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        graph.write('neg_', [graph.call('slice', [created], { isView: true })]);
        return [created];
      },
    ],
    [
      'a view of which another view is a result',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        const [first, second] = [0, 1].map((at) =>
          graph.call('select', [created], { isView: true, args: [0, at] }),
        );
        graph.write('neg_', [first!]);
        return [second!];
      },
    ],
    [
      'a value of which it also reads a view',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        graph.write('mul_.Tensor', [created, graph.call('t', [created], { isView: true })]);
        return [created];
      },
    ],
    [
      'the result of an operator that may return a view without saying so',
      (graph, x) => {
        const view = graph.call('einsum', [x]);
        graph.write('neg_', [view]);
        return [view];
      },
    ],
    [
      'what an action has got',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        graph.cut(created);
        graph.write('neg_', [created]);
        return [created];
      },
    ],
    [
      'a view of which an action has got another one',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        graph.cut(graph.call('t', [created], { isView: true }));
        graph.write('neg_', [created]);
        return [created];
      },
    ],
    [
      'a value in a dtype that the operator would promote',
      (graph, x) => {
        const created = graph.call('_to_copy', [x], { dtype: 'bfloat16' });
        graph.write('mul_.Tensor', [created, x]);
        return [created];
      },
    ],
    [
      'a view with gaps',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        const view = graph.call('slice', [created], { isView: true, isContiguous: false });
        graph.write('neg_', [view]);
        return [view];
      },
    ],
    [
      'with arguments that a plan cannot contain',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        graph.write('div_.Tensor_mode', [created, x], ['floor']);
        return [created];
      },
    ],
    [
      'random numbers',
      (graph, x) => {
        const created = graph.call('abs', [x]);
        graph.write('random_.from', [created], [0, 10]);
        return [created];
      },
    ],
  ])('keeps a call that writes %s', (_what, make) => {
    const graph = new GraphBuilder();
    const built = graph.build(...make(graph, graph.input()));
    expect(writeNewValues(built)).toEqual(built);
  });

  it.each<[string, 'float32' | 'bfloat16', 'float32' | 'bfloat16' | 'int32', readonly number[]]>([
    ['a lower float', 'float32', 'bfloat16', [4, 8]],
    ['integers', 'bfloat16', 'int32', [4, 8]],
    ['a number', 'bfloat16', 'float32', []],
  ])('keeps the dtype beside %s', (_what, dtype, other, shape) => {
    const graph = new GraphBuilder();
    const created = graph.call('abs', [graph.input([4, 8], dtype)], { dtype });
    graph.write('mul_.Tensor', [created, graph.input(shape, other)]);
    const changed = writeNewValues(graph.build(created));
    expect(operatorsOf(changed)).toEqual(['abs', 'mul']);
    expect(changed.values[changed.segments[0]!.outputs[0]!]!.dtype).toBe(dtype);
  });

  it('finds the operators whose names differ', () => {
    const graph = new GraphBuilder();
    const created = graph.call('abs', [graph.input()]);
    graph.write('pow_.Scalar', [created], [3]);
    const [, power] = writeNewValues(graph.build(created)).segments[0]!.nodes;
    expect(power).toMatchObject({ op: 'aten::pow.Tensor_Scalar' });
  });
});
