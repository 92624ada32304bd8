import { isReshape } from './fusable.js';
import type { GraphNode } from './graph.js';
import type { Users } from './users.js';

/** Operators that will run as one program, or a call that runs alone. */
export interface Unit {
  /** The last recorded first. */
  readonly members: GraphNode[];
  /** The number of elements of each result. Undefined if nothing can join. */
  readonly elements: number | undefined;
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
    let unit = elements === undefined ? undefined : this.#findUnit(node, elements);
    // A view as the last operator of a program would be a copy.
    const isView = node.kind === 'call' && isReshape(node);
    if (isView && unit && node.results.some((value) => this.isNeededBeyond(value, unit!))) unit = undefined;
    unit ??= { members: [], elements: isView ? undefined : elements };
    unit.members.push(node);
    this.#unitOf.set(node, unit);
  }

  /** Whether a value is used outside of a unit. */
  isNeededBeyond(value: number, unit: Unit): boolean {
    return this.outputs.has(value) || this.users.of(value).some((user) => this.#unitOf.get(user) !== unit);
  }

  /** Of the units of its users, the one that was recorded first. */
  #findUnit(node: GraphNode, elements: number): Unit | undefined {
    return this.#successors([node]).find(
      (unit) => unit.elements === elements && unit.members.length < MAX_MEMBERS && this.#canJoin(node, unit),
    );
  }

  /** Whether no way leads from `node` through another unit to `unit`. */
  #canJoin(node: GraphNode, unit: Unit): boolean {
    const seen = new Set([unit]);
    const toVisit = this.#successors([node]).filter((next) => next !== unit);
    for (let next = toVisit.pop(); next; next = toVisit.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      const after = this.#successors(next.members);
      if (next !== unit && after.includes(unit)) return false;
      toVisit.push(...after);
    }
    return true;
  }

  #successors(nodes: readonly GraphNode[]): Unit[] {
    const after = nodes.flatMap((node) => this.users.after(node));
    return [...new Set(after.flatMap((user) => this.#unitOf.get(user) ?? []))];
  }
}
