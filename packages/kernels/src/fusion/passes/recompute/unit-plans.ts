import type { GraphNode } from '../../graph.js';
import { MAX_MEMBERS } from '../../units.js';
import type { Eligibility } from './eligibility.js';
import type { Schedule } from './schedule.js';

/** The nodes that a unit runs. */
export interface UnitPlan {
  /** In an order in which they can run. None if nobody takes what they return. */
  readonly members: readonly GraphNode[];
  /** The values that it takes from others. */
  readonly inputs: ReadonlySet<number>;
  /** The values of other units that it computes again. */
  readonly again: ReadonlySet<number>;
}

export const NOTHING: UnitPlan = { members: [], inputs: new Set(), again: new Set() };

/** How a unit gets a value. */
type Candidate = 'own' | 'again' | 'input' | 'missing';

/** Plans the nodes that units run, given the values that they compute again. */
export class UnitPlanner {
  constructor(
    private readonly schedule: Schedule,
    private readonly eligibility: Eligibility,
    /** The values that programs compute again instead of reading them, if they can. */
    private readonly recomputed: ReadonlySet<number>,
  ) {}

  /** @param isNeeded Whether another unit takes a value. */
  planOf(position: number, isNeeded: (value: number) => boolean): UnitPlan {
    const own = this.schedule.units[position]!.members.toReversed();
    const roots = own.filter((node) => hasEffect(node) || node.results.some(isNeeded));
    if (roots.length === 0) return NOTHING;
    const plan = this.#closureOf(roots, this.#ways(position, own));
    return plan.members.length > MAX_MEMBERS
      ? this.#closureOf(roots, (value) => (this.#isMadeAt(value, position) ? 'own' : 'input'))
      : plan;
  }

  /** All calls on which `roots` depend, as far as they are the unit's own or computed again. */
  #closureOf(roots: readonly GraphNode[], candidateOf: (value: number) => Candidate): UnitPlan {
    const members = new Set<GraphNode>();
    const inputs = new Set<number>();
    const again = new Set<number>();
    const toVisit = [...roots];
    for (let node = toVisit.pop(); node; node = toVisit.pop()) {
      if (members.has(node)) continue;
      members.add(node);
      for (const value of node.uses.filter((each) => each >= 0)) {
        const way = candidateOf(value);
        if (way === 'again') again.add(value);
        if (way === 'input') inputs.add(value);
        else toVisit.push(this.schedule.makerOf(value)!.node);
      }
    }
    const ordered = [...members].toSorted((a, b) => this.schedule.orderOf(a) - this.schedule.orderOf(b));
    return { members: ordered, inputs, again };
  }

  #ways(position: number, own: readonly GraphNode[]): (value: number) => Candidate {
    const taken = new Set(own.flatMap(({ uses }) => uses));
    const known = new Map<number, Candidate>();
    const find = (value: number): Candidate => {
      if (this.#isMadeAt(value, position)) return 'own';
      const canRead = taken.has(value) || this.eligibility.canRead(value, position);
      const direct = canRead ? 'input' : 'missing';
      if (!this.recomputed.has(value) || !this.eligibility.canRecompute(value, position)) return direct;
      const { uses } = this.schedule.makerOf(value)!.node;
      return uses.every((use) => use < 0 || candidateOf(use) !== 'missing') ? 'again' : direct;
    };
    const candidateOf = (value: number): Candidate => {
      const way = known.get(value) ?? find(value);
      known.set(value, way);
      return way;
    };
    return candidateOf;
  }

  #isMadeAt(value: number, position: number): boolean {
    return this.schedule.makerOf(value)?.position === position;
  }
}

const hasEffect = (node: GraphNode): boolean => node.kind === 'call' && node.effect !== 'none';
