import { reshape, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Defer, DeferredTensor } from '@acc/contract';
import { besideTape } from '@acc/tfjs-internals';
import type { Offload } from './offload/index.js';
import type { Shard } from './shard.js';

export interface ExposedContext {
  /** The ranks over which parameters are divided. */
  readonly collective: Collective;
  readonly defer: Defer;
  readonly offload: Pick<Offload, 'gradientOf' | 'tensorOf'> | undefined;
}

/**
 * Gradients as programs see them: in the shape of the variable, and gathered when they are read. A
 * program that only passes them on to an optimizer gathers nothing.
 */
export class ExposedGradients {
  /** By data id: what makes a tensor of this rank's elements. */
  readonly #held = new WeakMap<object, () => Tensor>();

  constructor(private readonly context: ExposedContext) {}

  has({ dataId }: Tensor): boolean {
    return this.#held.has(dataId);
  }

  /** @param own This rank's elements of the gradient. Disposed. */
  expose(own: Tensor, { variable }: Shard): Tensor {
    const { collective, defer, offload } = this.context;
    const stored = offload?.gradientOf(own);
    const heldOf = () => (stored ? offload!.tensorOf(stored) : deferred.held()!);
    const info = { shape: variable.shape, dtype: variable.dtype };
    const deferred: DeferredTensor = defer(stored ? info : { ...info, held: own }, () =>
      besideTape(() =>
        tidy(() => {
          const gather = () => collective.allGather(heldOf());
          deferred.fill(
            reshape(collective.named(`the gradient of ${variable.name}`, gather), variable.shape),
          );
        }),
      ),
    );
    if (stored) {
      stored.addUser(deferred);
      own.dispose();
    }
    this.#held.set(deferred.tensor.dataId, heldOf);
    return deferred.tensor;
  }

  /** This rank's elements of an exposed gradient; undefined for another tensor. The caller disposes them. */
  heldOf({ dataId }: Tensor): Tensor | undefined {
    return this.#held.get(dataId)?.();
  }
}
