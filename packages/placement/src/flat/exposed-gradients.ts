import { reshape, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Defer, DeferredTensor } from '@acc/contract';
import { besideTape } from '@acc/tfjs-internals';
import type { DistributedVariable } from '../distributed-variable.js';
import type { ShardStore } from './shard-store.js';

export interface ExposedContext {
  /** The ranks over which parameters are divided. */
  readonly collective: Collective;
  readonly defer: Defer;
  readonly offload: Pick<ShardStore, 'gradientOf' | 'tensorOf'> | undefined;
}

/**
 * Gradients as programs see them: in the shape of the variable, and gathered when they are read. A
 * program that only passes them on to an optimizer gathers nothing.
 */
export class ExposedGradients {
  /** By data id: what makes a tensor of this rank's elements. */
  readonly #local = new WeakMap<object, () => Tensor>();

  constructor(private readonly context: ExposedContext) {}

  has({ dataId }: Tensor): boolean {
    return this.#local.has(dataId);
  }

  /** @param local This rank's elements of the gradient. Disposed. */
  expose(local: Tensor, { full }: Pick<DistributedVariable, 'full'>): Tensor {
    const { collective, defer, offload } = this.context;
    const stored = offload?.gradientOf(local);
    const localOf = () => (stored ? offload!.tensorOf(stored) : deferred.held()!);
    const info = { shape: full.shape, dtype: full.dtype };
    const deferred: DeferredTensor = defer(stored ? info : { ...info, held: local }, () =>
      besideTape(() =>
        tidy(() => {
          const gather = () => collective.allGather(localOf());
          deferred.fill(reshape(collective.named(`the gradient of ${full.name}`, gather), full.shape));
        }),
      ),
    );
    if (stored) {
      stored.addUser(deferred);
      local.dispose();
    }
    this.#local.set(deferred.tensor.dataId, localOf);
    return deferred.tensor;
  }

  /** This rank's elements of an exposed gradient. The caller disposes them. */
  localOf({ dataId }: Tensor): Tensor {
    return this.#local.get(dataId)!();
  }
}
