import type { Graph, GraphNode } from './graph.js';

const END_OF_SEGMENT = 0;
const KEPT_CALL = 1;
const FUSED_CALL = 2;

/** The calls of a graph as numbers, as `Recording.rewrite` in `@acc/native` takes them. */
export function planOf({ segments }: Graph): number[] {
  return segments.flatMap(({ nodes }) => [...nodes.flatMap(numbersOf), END_OF_SEGMENT]);
}

function numbersOf(node: GraphNode): number[] {
  const { uses, results } = node;
  if (node.kind === 'call') return [KEPT_CALL, node.index, uses.length, ...uses];
  return [FUSED_CALL, uses.length, ...uses, results.length, ...results, ...node.program];
}
