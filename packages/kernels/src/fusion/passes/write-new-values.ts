import { SharedMemoryUse } from '../shared-memory-use.js';
import { outOfPlace } from '../in-place-operators.js';
import { withValues, type Call, type Graph, type GraphNode, type Value } from '../graph.js';
import { makersOf } from '../makers.js';

/**
 * Makes calls that write in place return new values, which later calls take (functionalization). They
 * must write a value that the step made, and whose memory nobody else reads later: no view of it, and
 * nothing outside of the step. Other passes then see operators without effects.
 */
export function writeNewValues(graph: Graph): Graph {
  const memory = new SharedMemoryUse(graph);
  const makers = makersOf(graph);
  const values: Value[] = [...graph.values];
  const elements = [...graph.elements];
  const written = new Map<number, number>();
  const current = (value: number): number => written.get(value) ?? value;

  /** The call with a new result. The value that it wrote is the result from now on. */
  function withResult(call: Call, op: string): Call {
    const [self] = call.uses as [number];
    const result = values.push(graph.values[self]!) - 1;
    elements.push(graph.elements[self]!);
    const changed: Call = { ...withValues(call, current), op, inPlace: call.op, results: [result] };
    written.set(self, result);
    return { ...changed, effect: 'none', isView: false };
  }

  function changed(node: GraphNode): GraphNode {
    const isWrite = node.kind === 'call' && node.effect === 'writes' && node.uses.length > 0;
    if (!isWrite || memory.isShared(node.uses[0]!)) return withValues(node, current);
    const op = outOfPlace(node, graph, makers.get(node.uses[0]!)?.isView === false);
    return op === undefined ? withValues(node, current) : withResult(node, op);
  }

  const segments = memory.changed(graph, changed, current);
  return { ...graph, segments, values, elements };
}
