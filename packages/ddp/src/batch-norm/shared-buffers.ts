import { concat, reshape, split, tidy, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, Pending } from '@acc/contract';
import { isLive } from '@acc/kernels';
import { buffersOf } from '@acc/tfjs-internals';

/** A pending broadcast. */
type Travelling = readonly { readonly variables: readonly Variable[]; readonly pending: Pending<Tensor> }[];

/**
 * Weights of layers that the forward pass changes and no gradient does, such as the moving
 * statistics of batch normalisation. Each rank updates them from its own batches. In each step all
 * ranks take over those of the first rank, like PyTorch's `broadcast_buffers`.
 */
export class SharedBuffers {
  readonly #models = new Set<readonly Variable[]>();

  /** Adds the weights of layers. Returns a function that removes them. */
  add(layers: readonly unknown[]): () => void {
    const variables = buffersOf(layers);
    for (const buffers of this.#models) if (!buffers.some(isLive)) this.#models.delete(buffers);
    this.#models.add(variables);
    return () => {
      this.#models.delete(variables);
    };
  }

  /** Starts one broadcast for each dtype. */
  launch(collective: Collective): Travelling {
    const byDtype = new Map<string, Set<Variable>>();
    for (const variable of [...this.#models].flat()) {
      if (!isLive(variable)) continue;
      const group = byDtype.get(variable.dtype) ?? new Set();
      byDtype.set(variable.dtype, group.add(variable));
    }
    return [...byDtype.values()].map((group) => {
      const variables = [...group];
      const flat = tidy(() => concat(variables.map((variable) => reshape(variable as Tensor, [-1]))));
      const pending = collective.broadcastAsync(flat);
      flat.dispose();
      return { variables, pending };
    });
  }

  finish(travelling: Travelling): void {
    for (const { variables, pending } of travelling) {
      const received = pending.wait();
      tidy(() => {
        const parts = split(
          received,
          variables.map(({ size }) => size),
        );
        variables.forEach((variable, i) => variable.assign(reshape(parts[i]!, variable.shape)));
      });
      received.dispose();
    }
  }
}
