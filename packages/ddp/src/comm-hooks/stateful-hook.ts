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
    this.shared.load(shared);
    this.local.load(local);
  }

  dispose(): void {
    this.shared.dispose();
    this.local.dispose();
  }
}

/** The plain sum. */
export function plainSum({
  gradsLocal,
  collective,
}: Pick<GradientBucket, 'gradsLocal' | 'collective'>): Pending<Tensor> {
  return collective.allReduceAsync(gradsLocal, 'sum', { donate: true, agreed: true });
}
