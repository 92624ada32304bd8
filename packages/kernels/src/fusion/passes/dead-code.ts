import { withNodes, type Graph, type GraphNode } from '../graph.js';

/** Removes calls without effects whose results nobody takes. */
export function removeDeadCode(graph: Graph): Graph {
  // Later segments take values of earlier ones, so the last segment comes first.
  const needed = new Set(graph.segments.flatMap(({ outputs }) => outputs));
  const kept = new Set<GraphNode>();
  for (const { nodes } of graph.segments.toReversed()) {
    for (const node of nodes.toReversed()) {
      if (!hasEffect(node) && !node.results.some((value) => needed.has(value))) continue;
      kept.add(node);
      for (const value of node.uses) needed.add(value);
    }
  }
  return withNodes(graph, ({ nodes }) => nodes.filter((node) => kept.has(node)));
}

const hasEffect = (node: GraphNode): boolean => node.kind === 'call' && node.effect !== 'none';
