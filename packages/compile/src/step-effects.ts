import type { Tensor } from '@tensorflow/tfjs-core';
import type { Recorder } from '@acc/contract';
import { engineInternals, patch } from '@acc/tfjs-internals';

/**
 * The effects of a recorded call of a step besides computing, which replays would not repeat.
 * Actions, such as updates of optimizers, run again in each replay and do not count.
 */
export class StepEffects {
  readonly #made = new Set<Tensor>();
  readonly #madeByActions = new WeakSet<Tensor>();
  /** The tensors that were kept or disposed, and where. */
  readonly #kept = new Map<Tensor, Line>();
  readonly #disposed = new Map<Tensor, Line>();

  constructor(private readonly recorder: Pick<Recorder, 'records' | 'refuse' | 'here'>) {}

  /** Runs the step. */
  watch<T>(run: () => T): T {
    const tfjs = engineInternals();
    const undos = [
      patch(tfjs, 'trackTensor', 'side effects', (own) => (tensor, backend) => {
        if (this.recorder.records) this.#made.add(tensor);
        else this.#madeByActions.add(tensor);
        own.call(tfjs, tensor, backend);
      }),
      patch(tfjs, 'disposeTensor', 'side effects', (own) => (tensor) => {
        if (this.recorder.records && !this.hasMade(tensor)) this.#disposed.set(tensor, this.recorder.here());
        own.call(tfjs, tensor);
      }),
      patch(tfjs, 'keep', 'side effects', (own) => (tensor) => {
        if (this.recorder.records) this.#kept.set(tensor, this.recorder.here());
        return own.call(tfjs, tensor);
      }),
      // The generators of tfjs take their seed from it, if the program gives none.
      patch(Math, 'random', 'side effects', (own) => () => {
        if (this.recorder.records) this.recorder.refuse('it draws numbers in JavaScript');
        return own.call(Math);
      }),
    ];
    try {
      return run();
    } finally {
      for (const undo of undos.reverse()) undo();
    }
  }

  /** Whether the step made a tensor. */
  hasMade(tensor: Tensor): boolean {
    return this.#made.has(tensor) || this.#madeByActions.has(tensor);
  }

  /**
   * Why the step cannot be replayed. Undefined if nothing speaks against it.
   *
   * @param known The arguments and the results of the step.
   */
  problem(known: readonly Tensor[]): string | undefined {
    const isKept = (tensor: Tensor) => isAlive(tensor) && !known.includes(tensor) && !isVariable(tensor);
    const kept = [...this.#made].find(isKept);
    if (kept) return reasonAt('it keeps tensors that it creates', this.#kept.get(kept));
    const disposed = [...this.#disposed].find(([tensor]) => !isAlive(tensor));
    return disposed && reasonAt('it disposes tensors that it did not create', disposed[1]);
  }
}

/** See `Recorder.here`. */
type Line = ReturnType<Recorder['here']>;

function reasonAt(reason: string, line: Line | undefined): string {
  const at = line?.();
  return at === undefined ? reason : `${reason}, at ${at}`;
}

const isAlive = (tensor: Tensor): boolean => !tensor.isDisposed;

export function isVariable(tensor: Tensor): boolean {
  return 'assign' in tensor;
}
