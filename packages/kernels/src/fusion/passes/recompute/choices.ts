import { groupBy } from '../../../recording/group-by.js';
import { bytesOf, LIFE, stepCostOf } from './costs.js';
import type { Schedule } from './schedule.js';
import { NOTHING, type UnitPlan, type UnitPlanner } from './unit-plans.js';

/** The plans of all units, with their cost: bytes read, written and kept, and steps. */
export class Choices {
  readonly #plans: UnitPlan[];
  /** The places of the units that take a value of another one. */
  readonly #readers = new Map<number, Set<number>>();
  /** The places of the units that compute a value of another one again. */
  readonly #repeaters = new Map<number, Set<number>>();
  /** The values that share memory with each root. */
  readonly #groups: ReadonlyMap<number, readonly number[]>;
  #cost = 0;

  constructor(
    private readonly schedule: Schedule,
    private readonly planner: UnitPlanner,
    /** See {@link UnitPlanner}. */
    private readonly recomputed: Set<number>,
  ) {
    this.#groups = groupBy(schedule.graph.values.keys(), (value) => schedule.rootOf(value));
    this.#plans = schedule.units.map(() => NOTHING);
    for (let position = this.#plans.length - 1; position >= 0; position--) this.#plan(position);
  }

  /** The plan of each unit. */
  get plans(): readonly UnitPlan[] {
    return this.#plans;
  }

  /** Whether a unit other than its own takes a value, or it is an output. */
  isNeeded(value: number): boolean {
    return this.isRead(value) || this.schedule.endOf(value) !== undefined;
  }

  isRead(value: number): boolean {
    return (this.#readers.get(value)?.size ?? 0) > 0;
  }

  isRecomputed(value: number): boolean {
    return (this.#repeaters.get(value)?.size ?? 0) > 0;
  }

  /** Computes values again, or reads them, if that costs less than now. */
  attempt(values: readonly number[], isRecomputed: boolean): boolean {
    const changed = values.filter((value) => this.recomputed.has(value) !== isRecomputed);
    const before = this.#cost;
    const undo = new Map<number, UnitPlan>();
    this.#mark(changed, isRecomputed);
    const waiting = new Set(changed.flatMap((value) => this.#touching(value)));
    while (waiting.size > 0) {
      // What a unit has to return depends on later ones.
      const position = Math.max(...waiting);
      waiting.delete(position);
      if (!undo.has(position)) undo.set(position, this.#plans[position]!);
      for (const maker of this.#plan(position)) waiting.add(maker);
    }
    if (this.#cost < before) return true;
    this.#mark(changed, !isRecomputed);
    for (const [position, plan] of undo) this.#replace(position, plan);
    this.#cost = before;
    return false;
  }

  /** The bytes of results that live at the same time. */
  peakBytes(): number {
    const changes = new Float64Array(this.#plans.length + 1);
    for (const root of this.#groups.keys()) {
      const life = this.#lifeOf(root);
      if (!life) continue;
      const bytes = bytesOf(root, this.schedule.graph);
      changes[life.first]! += bytes;
      changes[life.last + 1]! -= bytes;
    }
    let [peak, now] = [0, 0];
    for (const change of changes) peak = Math.max(peak, (now += change));
    return peak;
  }

  #mark(values: readonly number[], isRecomputed: boolean): void {
    for (const value of values) {
      if (isRecomputed) this.recomputed.add(value);
      else this.recomputed.delete(value);
    }
  }

  #touching(value: number): number[] {
    return [...(this.#readers.get(value) ?? []), ...(this.#repeaters.get(value) ?? [])];
  }

  /** Plans a unit anew. Returns the places of the units from which it now takes other values. */
  #plan(position: number): Set<number> {
    const plan = this.planner.planOf(position, (value) => this.isNeeded(value));
    const changed = this.#replace(position, plan);
    return new Set(changed.flatMap((value) => this.schedule.makerOf(value)?.position ?? []));
  }

  /** Returns the inputs that only one of the old and the new plan has. */
  #replace(position: number, plan: UnitPlan): number[] {
    const old = this.#plans[position]!;
    const changed = [
      ...[...old.inputs].filter((value) => !plan.inputs.has(value)),
      ...[...plan.inputs].filter((value) => !old.inputs.has(value)),
    ];
    const roots = new Set(changed.map((value) => this.schedule.rootOf(value)));
    const costOfRoots = (): number => sumOf(roots, (root) => this.#costOfKeeping(root));
    this.#cost -= this.#costOfRunning(position) + costOfRoots();
    update(this.#readers, position, old.inputs, plan.inputs);
    update(this.#repeaters, position, old.again, plan.again);
    this.#plans[position] = plan;
    this.#cost += this.#costOfRunning(position) + costOfRoots();
    return changed;
  }

  /** The cost of the inputs of a unit and of the steps of its program. */
  #costOfRunning(position: number): number {
    const { inputs, members } = this.#plans[position]!;
    const { graph, units } = this.schedule;
    if (
      units[position]!.layout === undefined &&
      members.every(({ results }) => this.schedule.isView(results[0]!))
    ) {
      return 0;
    }
    const steps =
      units[position]!.layout === undefined ? 0 : sumOf(members, (node) => stepCostOf(node, graph));
    return steps + sumOf(inputs, (value) => (graph.numbers.has(value) ? 0 : bytesOf(value, graph)));
  }

  /** The cost of writing a value and views of it, and of keeping their memory. */
  #costOfKeeping(root: number): number {
    const life = this.#lifeOf(root);
    if (!life) return 0;
    const bytes = bytesOf(root, this.schedule.graph);
    return bytes + (LIFE * bytes * (life.last - life.first)) / this.#plans.length;
  }

  /** The first and the last unit with a value or views of it. Undefined if no unit has to make it. */
  #lifeOf(root: number): { first: number; last: number } | undefined {
    const maker = this.schedule.makerOf(root);
    if (!maker) return undefined;
    let last = -1;
    for (const value of this.#groups.get(root)!) {
      last = Math.max(last, this.schedule.endOf(value) ?? -1);
      for (const position of this.#readers.get(value) ?? []) last = Math.max(last, position);
    }
    return last < 0 ? undefined : { first: maker.position, last };
  }
}

/** Moves a unit from the values that it had to those that it has now. */
function update(
  places: Map<number, Set<number>>,
  position: number,
  old: ReadonlySet<number>,
  now: ReadonlySet<number>,
): void {
  for (const value of old) if (!now.has(value)) places.get(value)!.delete(position);
  for (const value of now) {
    const known = places.get(value);
    if (known) known.add(position);
    else places.set(value, new Set([position]));
  }
}

function sumOf<Item>(items: Iterable<Item>, numberOf: (item: Item) => number): number {
  let sum = 0;
  for (const item of items) sum += numberOf(item);
  return sum;
}
