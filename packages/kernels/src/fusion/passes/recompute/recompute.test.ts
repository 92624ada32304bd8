import { expect, it } from 'vitest';
import type { FusionMode } from '../../elementwise-operators.js';
import type { Call, FusedCall, Graph } from '../../graph.js';
import { Report } from '../../report.js';
import { GraphBuilder, operatorsOf } from '../../testing.js';
import { fuseElementwise } from '../fuse-elementwise.js';
import { RecomputeReport } from './recompute-report.js';

const SHAPE = [64, 128];

/** A step that computes a value in its first part and takes it again in its second part. */
class StepBuilder extends GraphBuilder {
  constructor(shape: readonly number[] = SHAPE) {
    super(shape);
  }

  product(a: number, b: number): number {
    return this.call('mm', [a, b]);
  }

  mul(a: number, b: number): number {
    return this.call('mul.Tensor', [a, b]);
  }

  cube(x: number): number {
    return this.mul(this.mul(x, x), x);
  }
}

function fused(graph: Graph, mode: FusionMode = 'fast'): { graph: Graph; lines: readonly string[] } {
  const report = new RecomputeReport();
  return { graph: fuseElementwise(mode, new Report(), report)(graph), lines: report.lines() };
}

const programsOf = ({ segments }: Graph): FusedCall[] =>
  segments.flatMap(({ nodes }) => nodes).filter((node) => node.kind === 'fused');

/** `tanh(cube(x))` of a product x, and its gradient. */
function activation(step: StepBuilder, weights: number): { x: number; output: number; gradient: number } {
  const x = step.product(step.input(), weights);
  const y = step.call('tanh', [step.cube(x)]);
  const output = step.product(step.mul(y, step.number(2)), weights);
  const gradient = step.call('tanh_backward', [step.product(output, weights), y]);
  return { x, output, gradient: step.mul(gradient, x) };
}

it('computes a chain again from what lives anyway, in the same order, and does not write it', () => {
  const step = new StepBuilder();
  const { x, output, gradient } = activation(step, step.input());
  const { graph, lines } = fused(step.build(output, gradient));
  const chain = 'mul mul tanh';
  expect(operatorsOf(graph)).toEqual(['mm', `[${chain} mul]`, 'mm', 'mm', `[${chain} tanh_backward mul]`]);
  const [forward, backward] = programsOf(graph) as [FusedCall, FusedCall];
  expect(forward.results).toHaveLength(1);
  expect(backward.uses).toContain(x);
  expect(backward.uses).toHaveLength(2);
  expect(backward.results).toEqual([gradient]);
  expect(lines).toEqual(['recomputed in later programs instead of kept:', '  1 × tanh, float32[64,128]']);
});

it('keeps one number for each row, and computes the rest of a normalisation again', () => {
  const step = new StepBuilder();
  const weights = step.input();
  const x = step.product(step.input(), weights);
  const [mean, square] = [x, step.mul(x, x)].map((value) =>
    step.call('mean.dim', [value], { shape: [64, 1], args: [[1], true] }),
  ) as [number, number];
  const deviation = step.call('sqrt', [square], { shape: [64, 1] });
  const centred = step.call('sub.Tensor', [x, mean], { args: [1] });
  const normal = step.call('div.Tensor', [centred, deviation]);
  const output = step.product(normal, weights);
  const gradient = step.mul(step.call('neg', [step.product(output, weights)]), step.mul(normal, centred));
  const { graph } = fused(step.build(output, step.product(gradient, x)));
  const [forward, backward] = programsOf(graph) as [FusedCall, FusedCall];
  expect(forward.results).toEqual([mean, deviation, normal]);
  expect(backward.members.map(({ op }) => op)).toContain('aten::sub.Tensor');
  expect(backward.members.map(({ op }) => op)).toContain('aten::div.Tensor');
  expect([...backward.uses].toSorted((a, b) => a - b).slice(0, 3)).toEqual([x, mean, deviation]);
  expect(backward.uses).not.toContain(normal);
});

it.each<[string, (step: StepBuilder) => number]>([
  [
    'an unwritten large value',
    (step) => step.mul(step.product(step.input(), step.input()), step.product(step.input(), step.input())),
  ],
  [
    'a random draw',
    (step) => step.call('bernoulli', [step.product(step.input(), step.input())], { effect: 'draws' }),
  ],
])('keeps what takes more to compute again, or would be another one: %s', (_what, make) => {
  const step = new StepBuilder();
  const y = make(step);
  const between = step.product(step.call('abs', [y]), step.input());
  const { lines } = fused(step.build(step.mul(step.call('neg', [between]), y)));
  expect(lines).toEqual([]);
});

it.each([false, true])('computes nothing again from what a later call writes in place: %s', (isWritten) => {
  const step = new StepBuilder();
  const x = step.product(step.input(), step.input());
  const y = step.call('neg', [step.cube(x)]);
  const between = step.product(step.call('abs', [y]), step.input());
  const view = step.call('t', [x], { isView: true });
  const written = isWritten ? view : between;
  step.call('mul_.Tensor', [written, step.input()], { effect: 'writes', results: [] });
  const { lines } = fused(step.build(step.mul(step.call('neg', [between]), y)));
  expect(lines.slice(1)).toEqual(isWritten ? [] : ['  1 × neg, float32[64,128]']);
});

it("'exact' computes nothing again that rounds in another way", () => {
  const step = new StepBuilder();
  const { output, gradient } = activation(step, step.input());
  const { lines } = fused(step.build(output, gradient), 'exact');
  expect(lines).toEqual([]);
});

it('computes nothing again in a program that runs as one operator in the first place', () => {
  const step = new StepBuilder();
  const x = step.product(step.input(), step.input());
  const y = step.call('tanh', [x]);
  const z = step.product(y, step.input());
  const result = step.mul(step.call('neg', [z]), step.mul(y, x));
  expect(operatorsOf(fused(step.build(result)).graph)).toEqual(['mm', 'tanh', 'mm', '[neg mul mul]']);
});

it('has at most 64 operators in a program', () => {
  const step = new StepBuilder();
  const x = step.product(step.input(), step.input());
  let y = x;
  for (let i = 0; i < 50; i++) y = step.call('neg', [y]);
  let gradient = step.product(step.mul(y, x), step.input());
  for (let i = 0; i < 20; i++) gradient = step.call('abs', [gradient]);
  const { graph, lines } = fused(step.build(step.mul(step.mul(gradient, y), x)));
  expect(programsOf(graph).map(({ members }) => members.length)).toEqual([51, 22]);
  expect(lines).toEqual([]);
});

/** The graph in two segments, of which the first one ends before the call at `end`. */
function inTwoSegments(graph: Graph, end: number, outputs: readonly number[]): Graph {
  const [{ nodes, outputs: results }] = graph.segments as [Graph['segments'][number]];
  return {
    ...graph,
    segments: [
      { nodes: nodes.slice(0, end), outputs },
      { nodes: nodes.slice(end), outputs: results },
    ],
  };
}

const placeOf = (graph: Graph, value: number): number =>
  graph.segments[0]!.nodes.findIndex(({ results }) => (results as Call['results']).includes(value));

it('crosses segments', () => {
  const step = new StepBuilder();
  const { output, gradient } = activation(step, step.input());
  const built = step.build(gradient);
  const { graph } = fused(inTwoSegments(built, placeOf(built, output) + 1, [output]));
  expect(
    programsOf(graph)
      .at(-1)!
      .members.map(({ op }) => op),
  ).toContain('aten::tanh');
});

it.each<[string, (step: StepBuilder) => { x: number; given: readonly number[] }]>([
  [
    'what an action gets',
    (step) => {
      const x = step.product(step.input(), step.input());
      return { x, given: [x] };
    },
  ],
  ['a variable', (step) => ({ x: step.input(), given: [] })],
  [
    'a view of a variable',
    (step) => ({ x: step.call('reshape', [step.input([128, 64])], { isView: true }), given: [] }),
  ],
])('does not keep for a later segment: %s', (_what, make) => {
  const step = new StepBuilder();
  const { x, given } = make(step);
  const y = step.call('neg', [step.cube(x)]);
  const z = step.product(step.call('abs', [y]), step.input());
  const result = step.mul(step.call('neg', [z]), step.call('abs', [y]));
  const built = step.build(result);
  const { lines } = fused(inTwoSegments(built, placeOf(built, z) + 1, given));
  expect(lines).toEqual([]);
  // In one segment it is computed again.
  if (given.length > 0) expect(fused(built).lines).not.toEqual([]);
});
