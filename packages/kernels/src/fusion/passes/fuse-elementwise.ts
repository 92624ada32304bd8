import { util } from '@tensorflow/tfjs-core';
import type { FusionMode } from '../elementwise-operators.js';
import { elementwiseForm, isReshape } from '../fusable.js';
import { fusedCallOf } from '../fused-call.js';
import { withNodes, type Call, type Graph, type GraphNode } from '../graph.js';
import { inOrder } from '../order.js';
import type { Report } from '../report.js';
import { Units, type Unit } from '../units.js';
import { usersOf } from '../users.js';

/**
 * Fuses chains of elementwise operators, with broadcasts and changes of shape between them, into
 * programs. A result that is also needed outside of its chain is written by the program.
 */
export const fuseElementwise =
  (mode: FusionMode, report: Report) =>
  (graph: Graph): Graph => {
    const users = usersOf(graph);
    const outputs = new Set(graph.segments.flatMap((segment) => segment.outputs));

    /** The number of elements of an operator that can be fused. */
    function elementsOf(node: GraphNode): number | undefined {
      if (node.kind !== 'call') return undefined;
      const isFusable = isReshape(node) || typeof elementwiseForm(node, graph, mode) !== 'string';
      return isFusable ? util.sizeFromShape([...graph.values[node.results[0]!]!.shape]) : undefined;
    }

    function nodesOf(unit: Unit, units: Units): GraphNode[] {
      const members = unit.members.toReversed();
      if (members.length === 1) {
        const [only] = members as [GraphNode];
        if (only.kind === 'call') report.separate(only, graph, mode);
        return members;
      }
      const fused = fusedCallOf(members as Call[], graph, (value) => units.isNeededBeyond(value, unit));
      report.fused(fused);
      return [fused];
    }

    return withNodes(graph, ({ nodes }) =>
      regionsOf(nodes).flatMap((region) => {
        const units = new Units(users, outputs);
        // The users of a result come before the call that makes it.
        for (const node of region.toReversed()) units.place(node, elementsOf(node));
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
