import type { Graph, GraphNode } from './graph.js';

/** The nodes that take the results of other nodes. */
export interface Users {
  /** The nodes that take a value, in their order. */
  of(value: number): readonly GraphNode[];
  /** The nodes that must run after `node`: those that take its results, and the next random draw. */
  after(node: GraphNode): readonly GraphNode[];
}

export function usersOf({ segments }: Graph): Users {
  const users = new Map<number, GraphNode[]>();
  const nextDraw = new Map<GraphNode, GraphNode>();
  let lastDraw: GraphNode | undefined;
  for (const node of segments.flatMap(({ nodes }) => nodes)) {
    for (const value of new Set(node.uses)) {
      const known = users.get(value);
      if (known) known.push(node);
      else users.set(value, [node]);
    }
    if (!draws(node)) continue;
    if (lastDraw) nextDraw.set(lastDraw, node);
    lastDraw = node;
  }
  const of = (value: number): readonly GraphNode[] => users.get(value) ?? [];
  return {
    of,
    after(node) {
      const next = nextDraw.get(node);
      return [...node.results.flatMap(of), ...(next ? [next] : [])];
    },
  };
}

/** Whether a node draws random numbers, whose order stays the same. */
export const draws = (node: GraphNode): boolean => node.kind === 'call' && node.effect === 'draws';
