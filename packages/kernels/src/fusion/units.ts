import { isReshape } from './fusable.js';
import type { GraphNode } from './graph.js';
import type { Users } from './users.js';

/** Operators that will run as one program, or a call that runs alone. */
export interface Unit {
  /** The last recorded first. */
  readonly members: GraphNode[];
  /** The number of elements of each result. Undefined if nothing can join. */
  readonly elements: number | undefined;
  /** The other units that must run after it. */
  readonly after: Set<Unit>;
}

/** The largest number of operators in one program, whose registers must fit into a core's cache. */
const MAX_MEMBERS = 40;

/** Divides calls into units, without a cycle between units. */
export class Units {
  readonly #unitOf = new Map<GraphNode, Unit>();

  constructor(
    private readonly users: Users,
    private readonly outputs: ReadonlySet<number>,
  ) {}

  unitOf(node: GraphNode): Unit {
    return this.#unitOf.get(node)!;
  }

  /**
   * Puts a node into the unit of one of its users, or into a new one. All its users in the same
   * region must have been placed.
   *
   * @param elements The number of elements, if the node can be part of a program.
   */
  place(node: GraphNode, elements: number | undefined): void {
    const after = this.#unitsAfter(node);
    let unit = elements === undefined ? undefined : findUnit(after, elements);
    // A view as the last operator of a program would be a copy.
    const isView = node.kind === 'call' && isReshape(node);
    if (isView && unit && node.results.some((value) => this.isNeededBeyond(value, unit!))) unit = undefined;
    unit ??= { members: [], elements: isView ? undefined : elements, after: new Set() };
    unit.members.push(node);
    for (const next of after) if (next !== unit) unit.after.add(next);
    this.#unitOf.set(node, unit);
  }

  /** Whether a value is used outside of a unit. */
  isNeededBeyond(value: number, unit: Unit): boolean {
    return this.outputs.has(value) || this.users.of(value).some((user) => this.#unitOf.get(user) !== unit);
  }

  #unitsAfter(node: GraphNode): Unit[] {
    return [...new Set(this.users.after(node).flatMap((user) => this.#unitOf.get(user) ?? []))];
  }
}

/** Of the units after a node, the first one that the node can join without a cycle. */
function findUnit(after: readonly Unit[], elements: number): Unit | undefined {
  return after.find(
    (unit) => unit.elements === elements && unit.members.length < MAX_MEMBERS && !leadsTo(unit, after),
  );
}

/** Whether a way leads from one of `units` through another one to `unit`. */
function leadsTo(unit: Unit, units: readonly Unit[]): boolean {
  const seen = new Set([unit]);
  const toVisit = [...units];
  for (let next = toVisit.pop(); next; next = toVisit.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (next.after.has(unit)) return true;
    toVisit.push(...next.after);
  }
  return false;
}
