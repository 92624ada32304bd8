import { dispose, zeros, type Optimizer } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

/**
 * Copies the optimizer's state on `fromRank` to every rank, whatever the number of steps taken on
 * this rank.
 */
export async function shareOptimizer(
  optimizer: Optimizer,
  collective: Collective,
  fromRank: number,
): Promise<void> {
  const own = await optimizer.getWeights();
  const kinds = collective.broadcastObject(
    own.map(({ name, tensor: { shape, dtype } }) => ({ name, shape, dtype })),
    fromRank,
  );
  const isSource = collective.rank === fromRank;
  const weights = kinds.map(({ name, shape, dtype }, i) => {
    const given = isSource ? own[i]!.tensor : zeros(shape, dtype as 'float32');
    const tensor = collective.broadcast(given, fromRank);
    if (!isSource) given.dispose();
    return { name, tensor };
  });
  // Also on the source: some optimizers derive more state from the step count, and this state must
  // be the same bit for bit.
  await optimizer.setWeights(weights);
  dispose(weights.map(({ tensor }) => tensor));
  // The optimizers of tfjs do not dispose their old state.
  for (const { tensor } of own) if (!tensor.isDisposed) tensor.dispose();
}
