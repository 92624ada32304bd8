import type { FusionMode } from '../../elementwise-operators.js';
import { isShapeOnly } from '../../fusable.js';
import type { Graph, GraphNode } from '../../graph.js';
import type { Unit } from '../../units.js';
import { Choices } from './choices.js';
import { Eligibility } from './eligibility.js';
import type { RecomputeReport } from './recompute-report.js';
import { Schedule } from './schedule.js';
import { UnitPlanner, type UnitPlan } from './unit-plans.js';

/** The nodes that units run, and the values that they write. */
export interface Recomputed {
  planOf(unit: Unit): UnitPlan;
  /** Whether a value is taken by another unit than its own, or is an output. */
  isNeeded(value: number): boolean;
}

/** How often all values are looked at. */
const ROUNDS = 3;
/** Of the memory in use, what more may be used for less time. */
const MORE_MEMORY = 1.01;

/**
 * Chooses which values programs compute again from others, instead of reading what an earlier unit
 * has written and kept: rematerialization (Chen et al. 2016), by the bytes that are read, written
 * and kept. Repeated steps are those of the earlier unit and give the same bits.
 *
 * @param ordered The units of each segment in the order in which they run.
 */
export function recompute(
  graph: Graph,
  ordered: readonly (readonly Unit[])[],
  mode: FusionMode,
  report: RecomputeReport,
): Recomputed {
  const schedule = new Schedule(graph, ordered);
  const eligibility = new Eligibility(schedule, mode);
  const recomputed = new Set<number>();
  const choices = new Choices(schedule, new UnitPlanner(schedule, eligibility, recomputed), recomputed);
  const before = { plans: [...choices.plans], peakBytes: choices.peakBytes() };
  const kept = [...graph.values.keys()].filter((value) => choices.isNeeded(value));
  const isNeededBefore = new Set(kept);
  new Search(schedule, eligibility, choices, recomputed).run();
  const isBetter = choices.peakBytes() <= before.peakBytes * MORE_MEMORY;
  if (isBetter) {
    const dropped = kept.filter((value) => !choices.isNeeded(value) && choices.isRecomputed(value));
    report.set(dropped, before.peakBytes - choices.peakBytes(), schedule);
  }
  const plans = isBetter ? choices.plans : before.plans;
  const planOfUnit = new Map(schedule.units.map((unit, position) => [unit, plans[position]!]));
  return {
    planOf: (unit) => planOfUnit.get(unit)!,
    isNeeded: (value) => (isBetter ? choices.isNeeded(value) : isNeededBefore.has(value)),
  };
}

/** Tries to compute values again, and keeps what costs less. */
class Search {
  /** The views of a value that programs can compute again, and the views of those. */
  readonly #viewsOf = new Map<number, number[]>();
  readonly #candidates: readonly number[];

  constructor(
    private readonly schedule: Schedule,
    private readonly eligibility: Eligibility,
    private readonly choices: Choices,
    private readonly recomputed: Set<number>,
  ) {
    const values = schedule.units.flatMap(({ members }) =>
      members.toReversed().flatMap(({ results }) => results),
    );
    this.#candidates = values.filter((value) => value >= 0 && eligibility.isCandidate(value));
    for (const value of this.#candidates.toReversed()) this.#addView(value);
  }

  run(): void {
    // Nobody else takes what is inside of a program: it costs nothing, as long as nothing needs it.
    for (const value of this.#candidates) if (!this.choices.isRead(value)) this.recomputed.add(value);
    for (const { members } of this.schedule.units) this.#tryAll(members);
    for (let round = 0; round < ROUNDS; round++) {
      const changed = this.#candidates.filter((value) => this.#try(value));
      if (changed.length === 0) break;
    }
  }

  #tryAll(members: readonly GraphNode[]): void {
    const values = members.flatMap(({ results }) => results).filter((value) => this.#isWorthTrying(value));
    if (values.length > 1)
      this.choices.attempt(
        values.flatMap((value) => this.#withViews(value)),
        true,
      );
  }

  /** Changes how programs get a value. */
  #try(value: number): boolean {
    if (this.#isWorthTrying(value)) return this.choices.attempt(this.#withViews(value), true);
    return this.choices.isRecomputed(value) && this.choices.attempt([value], false);
  }

  #isWorthTrying(value: number): boolean {
    return value >= 0 && this.choices.isRead(value) && this.eligibility.isCandidate(value);
  }

  #withViews(value: number): number[] {
    return [value, ...(this.#viewsOf.get(value) ?? [])];
  }

  /** Views of `value` are known. */
  #addView(value: number): void {
    const { node } = this.schedule.makerOf(value)!;
    if (node.kind !== 'call' || !isShapeOnly(node)) return;
    const given = node.uses[0]!;
    this.#viewsOf.set(given, [...(this.#viewsOf.get(given) ?? []), ...this.#withViews(value)]);
  }
}
