import type { ClientUpdate } from './update.js';

/**
 * The mean of the updates, weighted by samples: FedAvg. With weights w, clients k and their
 * samples n_k: w + Σ n_k (w_k − w) / Σ n_k, which is Σ n_k w_k / Σ n_k.
 *
 * Source: McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized
 * Data" (AISTATS 2017), algorithm 1.
 */
export function fedAvg(updates: readonly ClientUpdate[]): Float64Array {
  const total = updates.reduce((sum, { samples }) => sum + samples, 0);
  const mean = new Float64Array(updates[0]!.update.length);
  for (const { update, samples } of updates) {
    const share = samples / total;
    for (let i = 0; i < mean.length; i++) mean[i]! += share * update[i]!;
  }
  return mean;
}
