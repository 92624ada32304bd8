import { AccError } from '@acc/contract';

/** `ACC_DATA_SAMPLE`: a dataset failed on one sample. An error of ours has a next step in its message. */
export function sampleFailed(
  {
    index,
    name,
    ...details
  }: { readonly index: number; readonly name: string | undefined; readonly worker?: number },
  message: string,
  cause: unknown,
): AccError {
  const which = name === undefined ? `${index}` : `${index} (${name})`;
  return new AccError('ACC_DATA_SAMPLE', `Sample ${which}: ${message}`, {
    help: message.includes('\n→ ') ? undefined : 'Correct the sample, or the function that makes it.',
    cause,
    details: { index, name, ...details },
  });
}

/** `ACC_DATA_NOT_AWAITED`: batches were read without waiting for them. */
export function readWithoutAwait(): AccError {
  return new AccError('ACC_DATA_NOT_AWAITED', 'Batches were read by for (… of …) without await.', {
    help: 'Wait for each batch: for await (const batch of loader).',
  });
}

/** `ACC_DATA_DATASET`: the argument cannot be iterated as data. */
export function notADataset(what: string, help: string): AccError {
  return new AccError('ACC_DATA_DATASET', `DataLoader: ${what}.`, { help });
}

/**
 * `ACC_DATA_COLLATE`: samples cannot be combined into a batch. `path` names the part of the sample.
 */
export function cannotCollate(path: string, what: string, details: Record<string, unknown> = {}): AccError {
  return new AccError('ACC_DATA_COLLATE', `${path}: ${what}.`, {
    help: 'Give all samples the same structure and shape, or pass a collate function to the DataLoader.',
    details: { path, ...details },
  });
}

/** `ACC_DATA_COLLATE`: a function of the program returned a promise in place of a batch. */
export function promised(option: 'collate' | 'transform'): AccError {
  return new AccError('ACC_DATA_COLLATE', `${option}: the function returned a promise.`, {
    help: 'Return the batch itself. What needs to wait belongs into the dataset.',
    details: { path: option },
  });
}

/**
 * `ACC_DATA_ROWS_DIFFER`: tensors of one batch, or of one set of columns, have different numbers of
 * rows.
 */
export function rowsDiffer(where: string, shapes: readonly (readonly number[])[]): AccError {
  const list = shapes.map((shape) => `[${shape.join(', ')}]`).join(', ');
  return new AccError('ACC_DATA_ROWS_DIFFER', `${where}: tensors differ in dim 0: ${list}.`, {
    help: 'Rows along dim 0 are the samples: give every tensor the same number of rows.',
    details: { shapes },
  });
}

/** `ACC_DATA_SPLIT`: `splitBatches` with batches that cannot be split. */
export function cannotSplit(what: string, help: string, details: Record<string, unknown> = {}): AccError {
  return new AccError('ACC_DATA_SPLIT', `splitBatches: ${what}.`, { help, details });
}

/** `ACC_DATA_SHUFFLE`: an option needs numbered samples, and a stream has none. */
export function needsNumbers(option: string): AccError {
  return new AccError(
    'ACC_DATA_SHUFFLE',
    `DataLoader: '${option}' cannot be used with an iterable, which yields samples in its own order.`,
    {
      help: 'Collect the samples into an array, pass {length, get(i)}, or do it inside the iterable.',
      details: { option },
    },
  );
}

/** `ACC_DATA_SPENT`: a second epoch of an iterator that can be read only once. */
export function spentIterator(): AccError {
  return new AccError('ACC_DATA_SPENT', 'DataLoader: this iterator was already read in an earlier epoch.', {
    help: 'Pass a function that creates it: new DataLoader(() => samples(), …).',
  });
}

export function unevenSequence(shape: readonly number[], shards: number): AccError {
  return new AccError(
    'ACC_DATA_SEQUENCE',
    `A tensor of a batch has shape [${shape.join(', ')}]. ${shards} ranks of the context axis cannot share the ${shape[1]} elements of dim 1 equally.`,
    {
      help: `Pad sequences to a multiple of ${shards}. What belongs to whole rows and not to positions has rank 1.`,
      details: { shape, pieces: shards },
    },
  );
}
