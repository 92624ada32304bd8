import { withNodes, withValues, type Call, type Graph, type GraphNode } from '../graph.js';
import { permutationOf } from '../permutations.js';
import { isSameShape } from '../same-shape.js';

/** Views that change at most the shape. */
const RESHAPES = new Set(['aten::reshape', 'aten::view', 'aten::expand', 'aten::alias']);

/** A value with its dims in the order of another one. */
interface Turned {
  readonly of: number;
  readonly dims: readonly number[];
}

/** Removes views that return their argument unchanged, and transposes that undo earlier ones. */
export function removeIdentityViews(graph: Graph): Graph {
  const outputs = new Set(graph.segments.flatMap((segment) => segment.outputs));
  const replaced = new Map<number, number>();
  const turned = new Map<number, Turned>();
  const current = (value: number): number => replaced.get(value) ?? value;
  return withNodes(graph, ({ nodes }) =>
    nodes.flatMap((node): GraphNode[] => {
      const call = withValues(node, current);
      if (call.kind !== 'call') return [call];
      const [result] = call.results;
      const same = sameAs(call, graph, turned);
      if (same === undefined || outputs.has(result!)) return [call];
      replaced.set(result!, same);
      return [];
    }),
  );
}

/** The value that a view repeats. Undefined if there is none. Takes note of a transpose. */
function sameAs(call: Call, { values }: Graph, turned: Map<number, Turned>): number | undefined {
  const [x] = call.uses;
  const [result] = call.results;
  if (RESHAPES.has(call.op)) {
    return isSameShape(values[x!]!.shape, values[result!]!.shape) ? x : undefined;
  }
  const permutation = permutationOf(call, values);
  if (!permutation) return undefined;
  const before = turned.get(x!);
  const dims = before ? permutation.map((dim) => before.dims[dim]!) : permutation;
  const of = before?.of ?? x!;
  if (dims.every((dim, i) => dim === i)) return of;
  turned.set(result!, { of, dims });
  return undefined;
}
