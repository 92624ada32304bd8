import { AccError, type BatchRows } from '@acc/contract';

/** Why the values of a tensor depend on the number of ranks. */
export interface Reason {
  readonly kernelName: string;
  /** The part of the message after the kernel's name. */
  readonly reason: string;
}

/** The error for a loss or gradient whose value depends on the number of ranks. */
export function dependsOnRanks({ kernelName, reason }: Reason): AccError {
  return new AccError(
    'ACC_DETERMINISTIC_RANKS',
    `The loss, or its gradient, depends on the number of ranks: the kernel ${kernelName} ${reason}.`,
    {
      help: 'Compute each sample independently, and combine samples only by sums or means. tf.layers.batchNormalization is supported. Or leave out deterministic.',
      details: { kernelName, reason },
    },
  );
}

export function notFromData(): AccError {
  return new AccError(
    'ACC_DETERMINISTIC_DATA',
    'With deterministic, a loss must be computed from the batches of prepared data, but this loss is not.',
    {
      help: 'Pass the data to accelerator.prepare, loop over the result, and compute the loss from its tensors, not from copies of their values.',
    },
  );
}

export function rowsDontFit({ rows, realRows }: BatchRows, virtualShards: number): AccError {
  const filled = rows.map((count, rank) => count - realRows[rank]!);
  const isFilled = filled.some((count) => count > 0);
  return new AccError(
    'ACC_DETERMINISTIC_ROWS',
    `The ranks have batches of ${rows.join(', ')} rows${isFilled ? `, ${filled.join(', ')} of them only filling` : ''}, which cannot be divided equally into ${virtualShards} virtual shards.`,
    {
      help: `Give every rank the same number of samples in each step, with a total that is a multiple of ${virtualShards}. Choose the batch size accordingly, and set dropLast: true for the rest at the end of the data.`,
      details: { rows, realRows, virtualShards },
    },
  );
}
