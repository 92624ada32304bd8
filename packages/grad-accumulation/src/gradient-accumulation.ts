import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import { AccError, finallyAfter, type GradientReduction, type ListMath } from '@acc/contract';
import type {
  AccumulationState,
  GradientAccumulation,
  AccumulatedGradients,
  ItemCounts,
} from './accumulation.js';
import { GradientSum } from './gradient-sum.js';
import { Window } from './window.js';

export interface GradientAccumulationOptions {
  /** The number of micro-batches in a window. */
  readonly steps: number;
  /** The list operations that add gradients. */
  readonly lists: ListMath;
  /** Whether a variable is still alive. Gradients held for a disposed variable are discarded. */
  readonly isLive: (variable: Variable) => boolean;
}

/** Holds the gradients of all micro-batches of a window except the last one. */
export function gradientAccumulation(options: GradientAccumulationOptions): GradientAccumulation {
  return new Accumulation(options);
}

interface LocalEntry {
  /** Of the variables. */
  readonly ids: string;
  readonly variables: readonly Variable[];
  readonly place: number;
  readonly sum: GradientSum;
}

class Accumulation implements GradientAccumulation {
  readonly #lists: ListMath;
  readonly #isLive: (variable: Variable) => boolean;
  readonly #window: Window;
  /**
   * By the variables of a pass, and the number of earlier passes over the same variables in the
   * micro-batch. A loop may train several optimizers, even of the same variables.
   */
  readonly #held = new Map<string, LocalEntry>();
  readonly #passes = new Map<string, number>();
  /** The sums that were passed to a reduction in the current micro-batch. */
  #taken: GradientSum[] = [];
  #isRunning = false;
  closesWindow = true;

  constructor({ steps, lists, isLive }: GradientAccumulationOptions) {
    this.#lists = lists;
    this.#isLive = isLive;
    this.#window = new Window(steps);
  }

  get steps(): number {
    return this.#window.steps;
  }

  get isHolding(): boolean {
    return this.#isRunning && !this.closesWindow;
  }

  get isInWindow(): boolean {
    return this.#isRunning && this.steps > 1;
  }

  run<T>(fn: () => T, isLast: boolean): T {
    return finallyAfter(fn, this.begin(isLast));
  }

  begin(isLast: boolean): () => void {
    if (this.#isRunning) throw nested();
    this.#forgetFreed();
    this.#isRunning = true;
    this.#passes.clear();
    this.closesWindow = this.#window.next(isLast);
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#isRunning = false;
      // Nothing is left of them unless a backward pass threw an error.
      for (const sum of this.#taken.splice(0)) sum.dispose();
    };
  }

  upcoming(count: number, isLast: boolean): boolean[] {
    const window = new Window(this.steps);
    window.reset(this.#window.done);
    return Array.from({ length: count }, () => window.next(isLast));
  }

  hold(variables: readonly Variable[], counts: ItemCounts, unit = counts.own): GradientReduction {
    const ids = idsOf(variables);
    this.#requireSameVariables(variables, ids);
    const sum = this.#sumOf(variables, ids, this.#placeOfNext(ids));
    const grads = new Array<Tensor | null>(variables.length).fill(null);
    return {
      ready(place, grad) {
        grads[place] = grad;
      },
      finish() {
        sum.add(grads, counts, unit);
        return grads;
      },
    };
  }

  take(variables: readonly Variable[]): AccumulatedGradients | undefined {
    if (!this.#isRunning || this.#held.size === 0) return undefined;
    const ids = idsOf(variables);
    this.#requireSameVariables(variables, ids);
    const key = keyOf(ids, this.#placeOfNext(ids));
    const entry = this.#held.get(key);
    if (!entry) return undefined;
    this.#held.delete(key);
    this.#taken.push(entry.sum);
    return entry.sum;
  }

  reset(): void {
    for (const { sum } of this.#held.values()) sum.dispose();
    this.#held.clear();
    this.#window.reset();
    this.closesWindow = true;
  }

  getState(): AccumulationState {
    this.#forgetFreed();
    const held = [...this.#held.values()].map(({ variables, place, sum }) => ({
      variables,
      place,
      ...sum.read(variables.length),
    }));
    return { done: this.#window.done, held };
  }

  setState({ done, held }: AccumulationState): void {
    this.reset();
    this.#window.reset(done);
    this.closesWindow = done === 0;
    for (const passes of held) {
      this.#sumOf(passes.variables, idsOf(passes.variables), passes.place).absorb(passes);
    }
  }

  /** Discards gradients of disposed variables. A window without other gradients begins anew. */
  #forgetFreed(): void {
    let hasForgotten = false;
    for (const [key, { variables, sum }] of this.#held) {
      if (variables.every(this.#isLive)) continue;
      sum.dispose();
      this.#held.delete(key);
      hasForgotten = true;
    }
    if (hasForgotten && this.#held.size === 0) this.reset();
  }

  /**
   * Refuses a pass in place of one over other variables: their sums would wait for a later window,
   * and count there. A loop that trains some variables in several passes runs all of them.
   */
  #requireSameVariables(variables: readonly Variable[], ids: string): void {
    const entries = [...this.#held.values()];
    if (entries.some((entry) => entry.ids === ids)) return;
    const before = entries.find(
      (entry) =>
        !this.#passes.has(entry.ids) && entry.variables.some((variable) => variables.includes(variable)),
    );
    if (before) throw changed(before.variables, variables);
  }

  /** The number of earlier passes over the same variables in this micro-batch. */
  #placeOfNext(ids: string): number {
    const before = this.#passes.get(ids) ?? 0;
    this.#passes.set(ids, before + 1);
    return before;
  }

  #sumOf(variables: readonly Variable[], ids: string, place: number): GradientSum {
    const key = keyOf(ids, place);
    let entry = this.#held.get(key);
    if (!entry) {
      entry = { ids, variables, place, sum: new GradientSum(this.#lists) };
      this.#held.set(key, entry);
    }
    return entry.sum;
  }
}

const idsOf = (variables: readonly Variable[]): string => variables.map(({ id }) => id).join();

const keyOf = (ids: string, place: number): string => `${place}:${ids}`;

function nested(): AccError {
  return new AccError('ACC_ACCUMULATE_NESTED', 'accumulate was called inside a micro-batch.', {
    help: 'Call it once for each micro-batch and await the result. Do not call it around fit, which accumulates by itself.',
  });
}

function changed(before: readonly Variable[], now: readonly Variable[]): AccError {
  const missing = before.filter((variable) => !now.includes(variable)).map(({ name }) => name);
  const added = now.filter((variable) => !before.includes(variable)).map(({ name }) => name);
  const parts = [
    missing.length > 0 && `${missing.join(', ')} got gradients before and are not trained now`,
    added.length > 0 && `${added.join(', ')} are trained now and were not before`,
  ];
  return new AccError(
    'ACC_ACCUMULATE_VARIABLES',
    `accumulate: the trained variables change inside a window: ${parts.filter((part) => part !== false).join('; ')}.`,
    {
      help: 'Freeze and thaw variables between windows (after a step of the optimizer), and give all micro-batches of a window the same list of variables.',
      details: { missing, added },
    },
  );
}
