import type { FusionMode } from '../elementwise-operators.js';
import { elementwiseForm, isReshape } from '../fusable.js';
import { fusedCallOf } from '../fused-call.js';
import type { Call, Graph, GraphNode } from '../graph.js';
import { withNodes } from '../graph.js';
import { inOrder } from '../order.js';
import { sizeOf } from '../size-of.js';
import type { Report } from '../report.js';

/** Calls that run as one program, or a call that runs alone. */
interface Unit {
  /** In the order of the recording, last first. */
  readonly members: GraphNode[];
  /** The number of elements of each result. Undefined for calls that cannot be fused. */
  readonly elements: number | undefined;
}

/** The largest number of operators in one program. Its registers must fit into a core's cache. */
const MAX_MEMBERS = 40;

/**
 * Fuses chains of elementwise operators, with broadcasts and changes of shape between them, into
 * programs. A result that is needed outside of its chain is written, too.
 */
export const fuseElementwise =
  (mode: FusionMode, report: Report) =>
  (graph: Graph): Graph => {
    const outputs = new Set(graph.segments.flatMap((segment) => segment.outputs));
    return withNodes(graph, ({ nodes }) =>
      regionsOf(nodes).flatMap((region) => fuseRegion(region, graph, outputs, nodes, mode, report)),
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

function fuseRegion(
  region: readonly GraphNode[],
  graph: Graph,
  outputs: ReadonlySet<number>,
  segment: readonly GraphNode[],
  mode: FusionMode,
  report: Report,
): readonly GraphNode[] {
  const users = usersOf(region);
  const unitOf = new Map<GraphNode, Unit>();
  const usersIn = (node: GraphNode): readonly GraphNode[] =>
    node.results.flatMap((value) => users.get(value) ?? []);
  const successors = (unit: Unit): Unit[] =>
    unit.members.flatMap(usersIn).map((user) => unitOf.get(user)!);

  /** Whether `from` is, or leads to, `target`. */
  function reaches(from: Unit, target: Unit, seen = new Set<Unit>()): boolean {
    if (from === target) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    return successors(from).some((next) => reaches(next, target, seen));
  }

  /** Whether a call can join a unit without a cycle between units. */
  function canJoin(node: GraphNode, unit: Unit): boolean {
    if (unit.members.length >= MAX_MEMBERS) return false;
    const others = usersIn(node).map((user) => unitOf.get(user)!).filter((other) => other !== unit);
    return others.every((other) => !reaches(other, unit));
  }

  const isNeededOutside = neededOutside(region, segment, outputs);
  for (const node of region.toReversed()) {
    const elements = elementsOf(node, graph, mode);
    const found =
      elements === undefined
        ? undefined
        : usersIn(node)
            .map((user) => unitOf.get(user)!)
            // The unit that was made last is the one that runs first.
            .toReversed()
            .find((unit) => unit.elements === elements && canJoin(node, unit));
    const isFree = (unit: Unit): boolean =>
      node.kind === 'call' &&
      isReshape(node) &&
      (node.results.some(isNeededOutside) || usersIn(node).some((user) => unitOf.get(user) !== unit));
    const unit = found && !isFree(found) ? found : { members: [], elements: startsUnit(node) ? elements : undefined };
    unit.members.push(node);
    unitOf.set(node, unit);
  }

  const units = [...new Set(region.map((node) => unitOf.get(node)!))];
  return inOrder(units, region, unitOf).flatMap((unit): GraphNode[] => {
    const members = unit.members.toReversed() as Call[];
    if (members.length === 1 || unit.elements === undefined) {
      report.separate(members[0]!, graph, mode);
      return members;
    }
    const isNeeded = (value: number): boolean =>
      isNeededOutside(value) || (users.get(value) ?? []).some((user) => unitOf.get(user) !== unit);
    const fused = fusedCallOf(members, graph, isNeeded);
    report.fused(fused, graph);
    return [fused];
  });
}

/** A view as the last call of a program would be a copy. */
const startsUnit = (node: GraphNode): boolean => node.kind === 'call' && !isReshape(node);

function elementsOf(node: GraphNode, graph: Graph, mode: FusionMode): number | undefined {
  if (node.kind !== 'call') return undefined;
  const isFusable = isReshape(node) || typeof elementwiseForm(node, graph, mode) !== 'string';
  return isFusable ? sizeOf(graph.values[node.results[0]!]!.shape) : undefined;
}

function usersOf(nodes: readonly GraphNode[]): ReadonlyMap<number, readonly GraphNode[]> {
  const users = new Map<number, GraphNode[]>();
  for (const node of nodes) {
    for (const value of new Set(node.uses)) {
      const known = users.get(value);
      if (known) known.push(node);
      else users.set(value, [node]);
    }
  }
  return users;
}

/** Whether a value is an output or used by calls outside of `region`, for the values that it makes. */
function neededOutside(
  region: readonly GraphNode[],
  segment: readonly GraphNode[],
  outputs: ReadonlySet<number>,
): (value: number) => boolean {
  const inside = new Set(region);
  const used = new Set(segment.filter((node) => !inside.has(node)).flatMap(({ uses }) => uses));
  return (value) => used.has(value) || outputs.has(value);
}
