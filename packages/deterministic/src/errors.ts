import { AccError, type BatchRows } from '@acc/contract';

/** Why a tensor's values depend on how many ranks there are. */
export interface Reason {
  readonly kernelName: string;
  /** Goes on after the kernel's name. */
  readonly reason: string;
}

/** What depends on how many ranks there are would have gone into the weights. */
export function dependsOnRanks({ kernelName, reason }: Reason): AccError {
  return new AccError(
    'ACC_DETERMINISTIC_RANKS',
    `The loss, or its gradient, depends on how many ranks there are: the kernel ${kernelName} ${reason}.`,
    {
      help: 'Let each sample be computed by itself and take sums or means over samples only; tf.layers.batchNormalization takes the statistics of all ranks. Or leave out deterministic.',
      details: { kernelName, reason },
    },
  );
}

export function notFromData(): AccError {
  return new AccError(
    'ACC_DETERMINISTIC_DATA',
    'With deterministic, a loss is computed from the batches of prepared data; this one is not.',
    {
      help: 'Give the data to accelerator.prepare, loop over what it returns, and compute the loss from those tensors, not from copies made of their values.',
    },
  );
}

export function rowsDontFit({ rows, realRows }: BatchRows, virtualShards: number): AccError {
  const filled = rows.map((count, rank) => count - realRows[rank]!);
  const isFilled = filled.some((count) => count > 0);
  return new AccError(
    'ACC_DETERMINISTIC_ROWS',
    `The ranks have batches of ${rows.join(', ')} rows${isFilled ? `, ${filled.join(', ')} of them only filling` : ''}, which ${virtualShards} virtual shards cannot share equally.`,
    {
      help: `Give every rank as many samples in each step, all together a multiple of ${virtualShards}: choose the batch size so, and dropLast: true for what is left at the end of the data.`,
      details: { rows, realRows, virtualShards },
    },
  );
}
