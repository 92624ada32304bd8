import type { FusionMode } from '../elementwise-operators.js';
import { fusedCallOf } from '../fused-call.js';
import { withNodes, type Call, type Graph, type GraphNode } from '../graph.js';
import { Layouts } from '../layouts.js';
import { inOrder } from '../order.js';
import type { Report } from '../report.js';
import { Units, type Unit } from '../units.js';
import { usersOf } from '../users.js';

/**
 * Fuses chains of elementwise operators and operators on rows, with broadcasts and changes of shape
 * between them, into programs. A result that is also needed outside of its chain is written by the program.
 */
export const fuseElementwise =
  (mode: FusionMode, report: Report) =>
  (graph: Graph): Graph => {
    const users = usersOf(graph);
    const layouts = new Layouts(graph, mode);
    const outputs = new Set(graph.segments.flatMap((segment) => segment.outputs));

    function nodesOf(unit: Unit, units: Units): GraphNode[] {
      const members = unit.members.toReversed();
      if (members.length === 1) {
        const [only] = members as [GraphNode];
        if (only.kind === 'call') report.separate(only, graph, mode);
        return members;
      }
      const isNeeded = (value: number): boolean => units.isNeededBeyond(value, unit);
      const fused = fusedCallOf(members as Call[], unit.layout!, graph, isNeeded);
      report.fused(fused);
      return [fused];
    }

    return withNodes(graph, ({ nodes }) =>
      regionsOf(nodes).flatMap((region) => {
        const units = new Units(users, outputs, layouts);
        // The users of a result come before the call that makes it.
        for (const node of region.toReversed()) units.place(node);
        return inOrder(region, units).flatMap((unit) => nodesOf(unit, units));
      }),
    );
  };

/** Splits calls at those that write in place, which nothing may cross. */
function regionsOf(nodes: readonly GraphNode[]): GraphNode[][] {
  const regions: GraphNode[][] = [[]];
  for (const node of nodes) {
    if (node.kind === 'call' && node.effect === 'writes') regions.push([node], []);
    else regions.at(-1)!.push(node);
  }
  return regions;
}
