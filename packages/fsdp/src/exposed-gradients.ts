import { reshape, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Defer, DeferredTensor } from '@acc/contract';
import { besideTape } from '@acc/tfjs-internals';
import type { Shard } from './shard.js';

/**
 * Gradients as programs see them: in the shape of the variable, and gathered when they are read. A
 * program that only passes them on to an optimizer gathers nothing.
 */
export class ExposedGradients {
  readonly #deferred = new WeakMap<object, DeferredTensor>();

  constructor(
    private readonly collective: Collective,
    private readonly defer: Defer,
  ) {}

  has({ dataId }: Tensor): boolean {
    return this.#deferred.has(dataId);
  }

  /** @param own This rank's elements of the gradient. Disposed. */
  expose(own: Tensor, { variable }: Shard): Tensor {
    const { collective } = this;
    const deferred = this.defer({ shape: variable.shape, dtype: variable.dtype, held: own }, () =>
      besideTape(() =>
        tidy(() => {
          const gather = () => collective.allGather(deferred.held()!);
          deferred.fill(
            reshape(collective.named(`the gradient of ${variable.name}`, gather), variable.shape),
          );
        }),
      ),
    );
    this.#deferred.set(deferred.tensor.dataId, deferred);
    return deferred.tensor;
  }

  /** This rank's elements of an exposed gradient; undefined for another tensor. The caller disposes them. */
  heldOf({ dataId }: Tensor): Tensor | undefined {
    return this.#deferred.get(dataId)?.held();
  }
}
