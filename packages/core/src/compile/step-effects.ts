import type { Tensor } from '@tensorflow/tfjs-core';
import type { Recorder } from '@acc/contract';
import { engineInternals, patch } from '@acc/tfjs-internals';

/**
 * What a recorded call of a step does besides computing, which replays would not repeat. Actions, such
 * as updates of optimizers, run again in each replay and do not count.
 */
export class StepEffects {
  readonly #made = new Set<Tensor>();
  readonly #madeByActions = new WeakSet<Tensor>();
  readonly #disposed = new Set<Tensor>();
  #draws = false;

  constructor(private readonly recorder: Pick<Recorder, 'records'>) {}

  /** Runs the step. */
  watch<T>(run: () => T): T {
    const tfjs = engineInternals();
    const undos = [
      patch(tfjs, 'trackTensor', (own) => (tensor, backend) => {
        if (this.recorder.records) this.#made.add(tensor);
        else this.#madeByActions.add(tensor);
        own.call(tfjs, tensor, backend);
      }),
      patch(tfjs, 'disposeTensor', (own) => (tensor) => {
        if (this.recorder.records && !this.hasMade(tensor)) this.#disposed.add(tensor);
        own.call(tfjs, tensor);
      }),
      // The generators of tfjs take their seed from it, if the program gives none.
      patch(Math, 'random', (own) => () => {
        if (this.recorder.records) this.#draws = true;
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
    if (this.#draws) return 'it draws numbers in JavaScript';
    const isKept = (tensor: Tensor) => isAlive(tensor) && !known.includes(tensor) && !isVariable(tensor);
    const changes = [...this.#made].some(isKept) || [...this.#disposed].some((tensor) => !isAlive(tensor));
    return changes
      ? 'it keeps tensors that it creates, or disposes tensors that it did not create'
      : undefined;
  }
}

const isAlive = (tensor: Tensor): boolean => !tensor.isDisposed;

export function isVariable(tensor: Tensor): boolean {
  return 'assign' in tensor;
}
