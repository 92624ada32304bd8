import { isShapeOnly } from './fusable.js';
import type { GraphNode } from './graph.js';
import type { Layout, Layouts } from './layouts.js';
import type { Users } from './users.js';

/** Operators that will run as one program, or a call that runs alone. */
export interface Unit {
  /** The last recorded first. */
  readonly members: GraphNode[];
  /** The layout of its operators. Undefined if nothing can join. */
  layout: Layout | undefined;
  /** The other units that must run after it. */
  readonly after: Set<Unit>;
}

/** The largest number of operators in one program, whose registers must fit into a core's cache. */
export const MAX_MEMBERS = 64;

/** Divides calls into units, without a cycle between units. */
export class Units {
  readonly #unitOf = new Map<GraphNode, Unit>();

  constructor(
    private readonly users: Users,
    private readonly outputs: ReadonlySet<number>,
    private readonly layouts: Layouts,
  ) {}

  unitOf(node: GraphNode): Unit {
    return this.#unitOf.get(node)!;
  }

  /**
   * Puts a node into the unit of one of its users, or into a new one. All its users in the same
   * region must have been placed.
   */
  place(node: GraphNode): void {
    const after = this.#unitsAfter(node);
    let { unit, layout } = this.#joinable(node, after);
    // A view as the last operator of a program would be a copy.
    const isView = node.kind === 'call' && isShapeOnly(node);
    if (isView && unit && node.results.some((value) => this.isNeededBeyond(value, unit!))) unit = undefined;
    if (!unit) {
      layout = isView ? undefined : this.layouts.of(node);
      unit = { members: [], layout, after: new Set() };
    }
    unit.layout = layout;
    unit.members.push(node);
    for (const next of after) if (next !== unit) unit.after.add(next);
    this.#unitOf.set(node, unit);
  }

  /** Whether a value is used outside of a unit. */
  isNeededBeyond(value: number, unit: Unit): boolean {
    return this.outputs.has(value) || this.users.of(value).some((user) => this.#unitOf.get(user) !== unit);
  }

  /** Of the units after a node, the first one that the node can join without a cycle. */
  #joinable(node: GraphNode, after: readonly Unit[]): { unit?: Unit; layout?: Layout } {
    for (const unit of after) {
      if (!unit.layout || unit.members.length >= MAX_MEMBERS) continue;
      const users = this.users.after(node).filter((user) => this.#unitOf.get(user) === unit);
      const layout = this.layouts.joined(node, unit.layout, users);
      if (layout && !leadsTo(unit, after)) return { unit, layout };
    }
    return {};
  }

  #unitsAfter(node: GraphNode): Unit[] {
    return [...new Set(this.users.after(node).flatMap((user) => this.#unitOf.get(user) ?? []))];
  }
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
