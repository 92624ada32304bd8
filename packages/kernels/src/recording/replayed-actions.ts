import type { Tensor } from '@tensorflow/tfjs-core';
import type { SegmentAction } from './recorded-segment.js';

/** The description of actions that state none. */
const OTHERS = 'optimizers, plugins and reductions, which JavaScript calls';

/** The actions of one replay. */
export class ReplayedActions {
  /** The results of the last action. */
  given: readonly (Tensor | null)[] = [];
  /** The deferred tensors among the results of actions, by number. */
  readonly handed = new Map<number, Tensor>();
  hasRun = false;
  readonly #timesMs = new Map<string, number>();
  readonly #undos: (() => void)[] = [];
  #isPassing = false;

  /** How long actions took, by what they do. */
  get timesMs(): ReadonlyMap<string, number> {
    return this.#timesMs;
  }

  run(
    { run, what = OTHERS, isPassing = false, afterFailure }: SegmentAction,
    inputs: readonly Tensor[],
  ): void {
    this.hasRun = true;
    const start = performance.now();
    this.given = run(inputs);
    this.#timesMs.set(what, (this.#timesMs.get(what) ?? 0) + performance.now() - start);
    this.#isPassing = isPassing;
    if (isPassing) for (const input of inputs) if (!this.given.includes(input)) input.dispose();
    if (afterFailure) this.#undos.push(afterFailure);
  }

  /** Call it when the native calls have the results of the last action. */
  areTaken(): void {
    if (this.#isPassing) for (const result of this.given) result?.dispose();
  }

  /** Call it if the replay fails. */
  undo(): void {
    for (const undo of this.#undos.reverse()) undo();
  }
}
