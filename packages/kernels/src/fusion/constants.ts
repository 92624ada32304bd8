import type { Call, Graph, Value } from './graph.js';
import { writtenValues } from './written-values.js';

/** Computes a constant: its elements as float32, in row-major order. */
export type ReadConstant = (value: number, meta: Value) => Float32Array;

/**
 * The values that calls compute from uploads and captured tensors alone: they are the same in every
 * replay. Results of the step and values with more than `maxElements` are left out, and what is
 * computed from those.
 */
export function constantsOf(graph: Graph, maxElements: number): ReadonlySet<number> {
  const left = new Set([...writtenValues(graph), ...graph.segments.flatMap(({ outputs }) => outputs)]);
  const known = new Set([...graph.uploads, ...graph.captured].filter((value) => !left.has(value)));
  const isSmall = (value: number): boolean => value < 0 || graph.elements[value]! <= maxElements;
  // Constants are computed by the calls as they were recorded, in which others write in place.
  const isConstant = ({ effect, inPlace, uses, results }: Call): boolean =>
    effect === 'none' &&
    inPlace === undefined &&
    uses.every((value) => value < 0 || known.has(value)) &&
    results.every((value) => !left.has(value) && isSmall(value));
  for (const node of graph.segments.flatMap(({ nodes }) => nodes)) {
    if (node.kind === 'call' && isConstant(node)) for (const value of node.results) known.add(value);
  }
  known.delete(-1);
  return known;
}
