import { expect, it } from 'vitest';
import type { FusionMode } from '../elementwise-operators.js';
import type { FusedCall, Graph } from '../graph.js';
import { Report } from '../report.js';
import { GraphBuilder, operatorsOf } from '../testing.js';
import { fuseElementwise } from './fuse-elementwise.js';
import { RecomputeReport } from './recompute/recompute-report.js';

const fused = (graph: Graph, mode: FusionMode = 'fast'): Graph =>
  fuseElementwise(mode, new Report(), new RecomputeReport())(graph);

it('fuses a chain, and returns what is needed elsewhere, too', () => {
  const graph = new GraphBuilder();
  const [x, gain] = [graph.input(), graph.input([8])];
  const half = graph.call('mul.Tensor', [x, graph.number(0.5)]);
  const scaled = graph.call('mul.Tensor', [half, gain]);
  const result = graph.call('tanh', [graph.add(scaled, x)]);
  const product = graph.call('mm', [half, x]);
  const changed = fused(graph.build(result, product));
  expect(operatorsOf(changed)).toEqual(['[mul mul add tanh]', 'mm']);
  const [program] = changed.segments[0]!.nodes as [FusedCall];
  expect(program.uses).toEqual([x, gain]);
  expect(program.results).toEqual([half, result]);
});

it('does not fuse around a call that needs a part and gives another', () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  const first = graph.call('neg', [x]);
  const product = graph.call('mm', [first, x]);
  const result = graph.add(graph.call('abs', [first]), product);
  expect(operatorsOf(fused(graph.build(result)))).toEqual(['neg', 'mm', '[abs add]']);
});

it('crosses changes of shape inside of a chain, but not writes in place', () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  const flat = graph.call('reshape', [graph.call('neg', [x])], { shape: [32], isView: true });
  const root = graph.call('abs', [flat], { shape: [32] });
  graph.call('mul_.Tensor', [root, x], { effect: 'writes', results: [] });
  const result = graph.call('neg', [root], { shape: [32] });
  expect(operatorsOf(fused(graph.build(result)))).toEqual(['[neg reshape abs]', 'mul_', 'neg']);
});

it('keeps the order of random draws', () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  const first = graph.call('neg', [x]);
  const second = graph.call('bernoulli', [graph.input()], { effect: 'draws' });
  const third = graph.call('bernoulli', [first], { effect: 'draws' });
  const result = graph.call('abs', [graph.add(first, second)]);
  const order = operatorsOf(fused(graph.build(result, third)));
  expect(order.filter((op) => op === 'bernoulli')).toHaveLength(2);
  expect(order).toEqual(['bernoulli', '[neg add abs]', 'bernoulli']);
});

it("'exact' leaves out what rounds in another way", () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  const built = graph.build(graph.call('tanh', [graph.call('abs', [graph.call('neg', [x])])]));
  expect(operatorsOf(fused(built, 'exact'))).toEqual(['[neg abs]', 'tanh']);
  expect(operatorsOf(fused(built))).toEqual(['[neg abs tanh]']);
});

it('reports what was fused, and why the rest was not', () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  const sum = graph.add(graph.call('neg', [x]), x);
  const scaled = graph.call('add.Tensor', [x, sum], { args: [2] });
  const report = new Report();
  fuseElementwise('fast', report, new RecomputeReport())(graph.build(graph.call('mm', [sum, scaled])));
  expect(report.lines()).toEqual([
    '2 calls run as 1 fused programs.',
    'calls that run alone:',
    '  its arguments have no elementwise form: 1 × add',
    '  it has no elementwise form: 1 × mm',
  ]);
});

it('fuses a norm over rows with the broadcast of its sums, and the sum of columns at its end', () => {
  const graph = new GraphBuilder([4, 8]);
  const [x, gain] = [graph.input(), graph.input([8])];
  const rows = { shape: [4, 1], args: [[-1], true, null] } as const;
  const columns = { shape: [8], args: [[0], false, null] } as const;
  const centred = graph.call('sub.Tensor', [x, graph.call('mean.dim', [x], rows)], { args: [1] });
  const square = graph.call('mul.Tensor', [centred, centred]);
  const root = graph.call('sqrt', [graph.call('mean.dim', [square], rows)], { shape: [4, 1] });
  const result = graph.call('mul.Tensor', [graph.call('div.Tensor', [centred, root]), gain]);
  const total = graph.call('sum.dim_IntList', [result], columns);
  const changed = fused(graph.build(result, total));
  expect(operatorsOf(changed)).toEqual(['[mean sub mul mean sqrt div mul sum]']);
  expect(changed.segments[0]!.nodes[0]!.results).toEqual([result, total]);
  expect(operatorsOf(fused(graph.build(result, total), 'exact'))).toContain('mean');
});

it('does not fuse what takes a sum of columns with it, or rows of another length', () => {
  const graph = new GraphBuilder([4, 8]);
  const x = graph.input();
  const columns = { shape: [8], args: [[0], false, null] } as const;
  const mean = graph.call('sum.dim_IntList', [graph.call('neg', [x])], columns);
  const centred = graph.call('sub.Tensor', [x, mean], { args: [1] });
  const flat = graph.call('reshape', [centred], { shape: [2, 16], isView: true });
  const rows = { shape: [2], args: [[1], false, null] } as const;
  const others = { shape: [4], args: [[1], false, null] } as const;
  const sums = [graph.call('amax', [flat], rows), graph.call('amax', [centred], others)];
  expect(operatorsOf(fused(graph.build(...sums)))).toEqual(['[neg sum]', '[sub reshape amax]', 'amax']);
});

it("fuses with 'exact' on a GPU only what is one operation of float32 there, too", () => {
  const operatorsFor = (isOnHost: boolean) => {
    const graph = new GraphBuilder([4, 8], isOnHost);
    const [x, y] = [graph.input(), graph.input()];
    const sum = graph.add(graph.call('mul.Tensor', [x, y]), y);
    // libtorch multiplies by the inverse on a GPU.
    const divided = graph.call('div.Scalar', [sum], { args: [3] });
    const compared = graph.call('gt.Tensor', [divided, y], { dtype: 'bool' });
    const chosen = graph.call('where.self', [compared, x, graph.call('neg', [y])]);
    const short = [0, 1].map(() => graph.input([4, 8], 'bfloat16')) as [number, number];
    const product = graph.call('mul.Tensor', short, { dtype: 'bfloat16' });
    const negated = graph.call('neg', [product], { dtype: 'bfloat16' });
    return operatorsOf(fused(graph.build(chosen, negated), 'exact'));
  };
  expect(operatorsFor(true)).toEqual(['[mul add div gt neg where]', '[mul neg]']);
  expect(operatorsFor(false)).toEqual(['[mul add]', 'div', '[gt neg where]', 'mul', 'neg']);
});
