import { withNodes, withValues, type Call, type Graph, type GraphNode } from '../graph.js';
import { isSameShape } from '../same-shape.js';

/** Views that change at most the shape. */
const RESHAPES = new Set(['aten::reshape', 'aten::view', 'aten::expand', 'aten::alias']);

/** Removes views that return their argument unchanged, and transposes of transposes. */
export function removeIdentityViews(graph: Graph): Graph {
  const outputs = new Set(graph.segments.flatMap((segment) => segment.outputs));
  const replaced = new Map<number, number>();
  const transposed = new Map<number, number>();
  const current = (value: number): number => replaced.get(value) ?? value;
  return withNodes(graph, ({ nodes }) =>
    nodes.flatMap((node): GraphNode[] => {
      const call = withValues(node, current);
      if (call.kind !== 'call') return [call];
      const [result] = call.results;
      const same = sameAs(call, graph, transposed);
      if (call.op === 'aten::t') transposed.set(result!, call.uses[0]!);
      if (same === undefined || outputs.has(result!)) return [call];
      replaced.set(result!, same);
      return [];
    }),
  );
}

/** The value that a view repeats. Undefined if there is none. */
function sameAs(call: Call, { values }: Graph, transposed: ReadonlyMap<number, number>): number | undefined {
  const [x] = call.uses;
  if (call.op === 'aten::t') return transposed.get(x!);
  if (!RESHAPES.has(call.op)) return undefined;
  const [given, made] = [values[x!]!, values[call.results[0]!]!];
  return isSameShape(given.shape, made.shape) ? x : undefined;
}
