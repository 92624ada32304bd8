import type { Tensor } from '@tensorflow/tfjs-core';
import type { Pending } from '@acc/contract';
import type { CommHook, CommHookState, GradientBucket } from '../comm-hook.js';
import { KeptState } from './kept-state.js';

/** A hook with state. Steps whose gradients are not finite do not change the state. */
export abstract class StatefulHook implements CommHook {
  abstract readonly name: string;
  /** State that is the same on every rank. */
  protected readonly shared = new KeptState();
  /** State of this rank. */
  protected readonly local = new KeptState();

  abstract reduce(bucket: GradientBucket): Pending<Tensor>;

  settle(areFinite: boolean): void {
    this.shared.settle(areFinite);
    this.local.settle(areFinite);
  }

  getState(): CommHookState {
    return { shared: this.shared.read(), local: this.local.read() };
  }

  setState({ shared, local }: CommHookState): void {
    const isOfHook = Object.values(shared).every(isValue);
    if (!isOfHook) this.#warnOfOtherState();
    this.shared.load(isOfHook ? shared : {});
    this.local.load(isOfHook ? local : {});
  }

  #warnOfOtherState(): void {
    console.warn(
      `acc: the checkpoint has no state of the communication hook ${this.name} for whole weights, because it comes from a mesh with the axis tensor. ` +
        'The hook begins anew, without the errors of compression that were to be added to the next gradients.',
    );
  }

  dispose(): void {
    this.shared.dispose();
    this.local.dispose();
  }
}

/** Other values come from a strategy that keeps the state of a hook for pieces of weights. */
const isValue = (value: unknown): boolean => typeof value === 'number' || value instanceof Float32Array;

/** The plain sum. */
export function plainSum({
  gradsLocal,
  collective,
}: Pick<GradientBucket, 'gradsLocal' | 'collective'>): Pending<Tensor> {
  return collective.allReduceAsync(gradsLocal, 'sum', { donate: true, agreed: true });
}
