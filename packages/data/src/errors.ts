import { AccError } from '@acc/contract';

/** `ACC_DATA_DATASET`: what was given can't be iterated as data. */
export function notADataset(what: string, help: string): AccError {
  return new AccError('ACC_DATA_DATASET', `DataLoader: ${what}.`, { help });
}

/** `ACC_DATA_COLLATE`: samples that don't make a batch. `path` names the part of the sample. */
export function cannotCollate(path: string, what: string, details: Record<string, unknown> = {}): AccError {
  return new AccError('ACC_DATA_COLLATE', `${path}: ${what}.`, {
    help: 'Make samples alike in structure and shape, or pass a collate function to the DataLoader.',
    details: { path, ...details },
  });
}

/** `ACC_DATA_ROWS_DIFFER`: tensors of one batch, or of one set of columns, that don't have equally many rows. */
export function rowsDiffer(where: string, shapes: readonly (readonly number[])[]): AccError {
  const list = shapes.map((shape) => `[${shape.join(', ')}]`).join(', ');
  return new AccError('ACC_DATA_ROWS_DIFFER', `${where}: tensors differ in dim 0: ${list}.`, {
    help: 'Rows along dim 0 are the samples: give every tensor equally many.',
    details: { shapes },
  });
}

/** `ACC_DATA_SPLIT`: `splitBatches` with batches that can't be cut. */
export function cannotSplit(what: string, help: string, details: Record<string, unknown> = {}): AccError {
  return new AccError('ACC_DATA_SPLIT', `splitBatches: ${what}.`, { help, details });
}

/** `ACC_DATA_SHUFFLE`: a stream of samples whose order can't be chosen. */
export function cannotShuffle(): AccError {
  return new AccError(
    'ACC_DATA_SHUFFLE',
    'DataLoader: an iterable comes in its own order and is not shuffled.',
    {
      help: 'Collect it into an array, give {length, get(i)}, or shuffle where it is made.',
    },
  );
}

/** `ACC_DATA_SPENT`: an iterator that can be read once only, asked for a second epoch. */
export function spentIterator(): AccError {
  return new AccError('ACC_DATA_SPENT', 'DataLoader: this iterator was read in an earlier epoch.', {
    help: 'Pass the function that makes it: new DataLoader(() => samples(), …).',
  });
}
