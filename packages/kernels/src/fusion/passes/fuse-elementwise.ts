import type { FusionMode } from '../elementwise-operators.js';
import { fusedCallOf } from '../fused-call.js';
import { withNodes, type Call, type Graph, type GraphNode } from '../graph.js';
import { Layouts } from '../layouts.js';
import { inOrder } from '../order.js';
import type { Report } from '../report.js';
import { Units, type Unit } from '../units.js';
import { usersOf } from '../users.js';
import type { RecomputeReport } from './recompute/recompute-report.js';
import { recompute } from './recompute/recompute.js';

/**
 * Fuses chains of elementwise operators and operators on rows, with broadcasts and changes of shape
 * between them, into programs. A result that is also needed outside of its chain is written by the
 * program, or computed again where it is needed.
 */
export const fuseElementwise =
  (mode: FusionMode, report: Report, recomputeReport: RecomputeReport) =>
  (graph: Graph): Graph => {
    const ordered = unitsOf(graph, mode);
    const recomputed = recompute(graph, ordered, mode, recomputeReport);

    function nodesOf(unit: Unit): GraphNode[] {
      const { members } = recomputed.planOf(unit);
      if (members.length === 0) return [];
      // What was part of a program rounds as in a program.
      if (members.length === 1 && unit.members.length === 1) {
        const [only] = members as [GraphNode];
        if (only.kind === 'call') report.separate(only, graph, mode);
        return [only];
      }
      const own = new Set(unit.members.flatMap(({ results }) => results));
      const isNeeded = (value: number): boolean => own.has(value) && recomputed.isNeeded(value);
      const fused = fusedCallOf(members as Call[], unit.layout!, graph, isNeeded);
      report.fused(fused);
      return [fused];
    }

    return withNodes(graph, (_segment, i) => ordered[i]!.flatMap(nodesOf));
  };

/** The units of each segment in the order in which they run. */
function unitsOf(graph: Graph, mode: FusionMode): Unit[][] {
  const users = usersOf(graph);
  const layouts = new Layouts(graph, mode);
  const outputs = new Set(graph.segments.flatMap((segment) => segment.outputs));
  return graph.segments.map(({ nodes }) =>
    regionsOf(nodes).flatMap((region) => {
      const units = new Units(users, outputs, layouts);
      // The users of a result come before the call that makes it.
      for (const node of region.toReversed()) units.place(node);
      return inOrder(region, units);
    }),
  );
}

/** Splits calls at those that write in place, which nothing may cross. */
function regionsOf(nodes: readonly GraphNode[]): GraphNode[][] {
  const regions: GraphNode[][] = [[]];
  for (const node of nodes) {
    if (node.kind === 'call' && node.effect === 'writes') regions.push([node], []);
    else regions.at(-1)!.push(node);
  }
  return regions;
}
