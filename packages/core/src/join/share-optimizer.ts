import { dispose, zeros, type Optimizer } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

/** Gives every rank the optimizer's state on `fromRank`, however many steps it has taken here. */
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
  // On the source, too: some optimizers derive further state from the count of steps, and that is to be the same bit for bit.
  await optimizer.setWeights(weights);
  dispose(weights.map(({ tensor }) => tensor));
  // tfjs's optimizers leave the state that they had to the caller.
  for (const { tensor } of own) if (!tensor.isDisposed) tensor.dispose();
}
