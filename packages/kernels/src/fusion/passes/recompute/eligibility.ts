import { util } from '@tensorflow/tfjs-core';
import type { FusionMode } from '../../elementwise-operators.js';
import { fusedForm, isReshape, type FusedForm } from '../../fusable.js';
import type { Call } from '../../graph.js';
import { writtenValues } from '../../written-values.js';
import type { Schedule } from './schedule.js';

/** Decides which values may be computed again, and which may be read later for that. */
export class Eligibility {
  readonly #written: ReadonlySet<number>;
  readonly #constants: ReadonlySet<number>;
  readonly #forms = new Map<number, FusedForm | undefined>();
  /** By the root of values: the place of the last unit that takes one of them. */
  readonly #lastUses = new Map<number, number>();
  /** By the root of values: the first segment of which one of them is an output. */
  readonly #givenAway = new Map<number, number>();

  constructor(
    private readonly schedule: Schedule,
    private readonly mode: FusionMode,
  ) {
    const { graph, units } = schedule;
    this.#written = writtenValues(graph);
    this.#constants = new Set([...graph.numbers.keys(), ...graph.uploads, ...graph.folded]);
    units.forEach(({ members }, position) => {
      for (const value of members.flatMap(({ uses }) => uses)) {
        this.#lastUses.set(schedule.rootOf(value), position);
      }
    });
    graph.segments.forEach(({ outputs }, segment) => {
      for (const root of outputs.map((value) => schedule.rootOf(value))) {
        if (!this.#givenAway.has(root)) this.#givenAway.set(root, segment);
      }
    });
  }

  /** Whether programs can compute a value again. */
  isCandidate(value: number): boolean {
    return this.#formOf(value) !== undefined;
  }

  /** Whether the program at `position` can compute a value again, given what the value is made of. */
  canRecompute(value: number, position: number): boolean {
    const { layout } = this.schedule.units[position]!;
    const form = this.#formOf(value);
    if (!layout || !form || this.#size(value) !== layout.elements) return false;
    return form.kind !== 'row' || form.row === layout.row;
  }

  /**
   * Whether the unit at `position` may take a value that it has not taken yet. What may be written
   * after a segment, or is kept by others, does not live longer than before.
   */
  canRead(value: number, position: number): boolean {
    if (this.#constants.has(value)) return true;
    if (this.#written.has(value)) return false;
    const root = this.schedule.rootOf(value);
    if (position <= (this.#lastUses.get(root) ?? -1)) return true;
    if (!this.schedule.makerOf(root)) return false;
    const segment = this.#givenAway.get(root);
    return segment === undefined || this.schedule.segmentOf(position) <= segment;
  }

  /** The form of the operator that makes a value. Undefined if no program may repeat it. */
  #formOf(value: number): FusedForm | undefined {
    if (!this.#forms.has(value)) {
      const maker = this.schedule.makerOf(value);
      const form = maker?.node.kind === 'call' ? this.#repeatableForm(maker.node, maker.position) : undefined;
      this.#forms.set(value, form);
    }
    return this.#forms.get(value);
  }

  #repeatableForm(call: Call, position: number): FusedForm | undefined {
    const { graph, units } = this.schedule;
    const { effect, results, uses } = call;
    if (effect !== 'none' || results.length !== 1) return undefined;
    if ([...uses, ...results].some((value) => this.#written.has(value))) return undefined;
    // A reshape of other memory copies.
    if (isReshape(call) && !graph.values[uses[0]!]!.isContiguous) return undefined;
    // An operator that runs alone can round in another way than in a program.
    const isAlone = units[position]!.members.length === 1;
    const form = fusedForm(call, graph, isAlone ? 'exact' : this.mode);
    if (typeof form === 'string') return undefined;
    // The results of reductions are small.
    return form.kind === 'row' && form.result !== 'elements' ? undefined : form;
  }

  #size(value: number): number {
    return util.sizeFromShape([...this.schedule.graph.values[value]!.shape]);
  }
}
