import { SharedMemoryUse } from '../shared-memory-use.js';
import { withValues, type Call, type Graph, type GraphNode } from '../graph.js';

/**
 * Undoes `writeNewValues` where no other pass has taken the call: it writes in place again, if nobody
 * needs the old value later. So a replay needs no more memory than the recorded step.
 */
export function writeInPlace(graph: Graph): Graph {
  const memory = new SharedMemoryUse(graph);
  const written = new Map<number, number>();
  const current = (value: number): number => written.get(value) ?? value;

  function inPlace(call: Call, op: string): Call {
    const [self] = call.uses as [number];
    memory.join(self, call.results[0]!);
    written.set(call.results[0]!, current(self));
    const { inPlace: _op, ...recorded } = withValues(call, current);
    return { ...recorded, op, results: [], effect: 'writes' };
  }

  function changed(node: GraphNode): GraphNode {
    if (node.kind !== 'call' || node.inPlace === undefined) return withValues(node, current);
    const [self, ...others] = node.uses as [number, ...number[]];
    const isFree = !memory.isShared(self) && !memory.isTakenLater(self) && !others.includes(self);
    return isFree ? inPlace(node, node.inPlace) : withValues(node, current);
  }

  return { ...graph, segments: memory.changed(graph, changed, current) };
}
