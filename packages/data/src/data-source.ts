import { AccError, isPlainRecord } from '@acc/contract';
import type { IndexedDataset } from '@acc/formats';
import { Tensor, util } from '@tensorflow/tfjs-core';
import type { Collate } from './batch-samples.js';
import { Columns } from './columns.js';
import { notADataset } from './errors.js';
import { isNumberArray } from './plain-values.js';
import { arraySource, columnSource, getterSource, type IndexedSource } from './sample-source.js';
import { isStream, streamSource, type SampleStream, type StreamSource } from './stream-source.js';
import { tensorsIn } from './structure.js';

export type DataSource = IndexedSource | StreamSource;

const HELP =
  'Give an array, a tensor or a record of tensors, an iterable or a function that returns one, or {length, get(i)}. ' +
  'A tf.data.Dataset needs no DataLoader: use its own batch().';

/** @throws AccError `ACC_DATA_DATASET`, `ACC_DATA_ROWS_DIFFER`, `ACC_INVALID_OPTION`. */
export function dataSource(dataset: unknown, collate: Collate | undefined): DataSource {
  if (typeof dataset === 'function') return streamSource(dataset as () => SampleStream<unknown>, collate);
  if (typeof dataset !== 'object' || dataset === null)
    throw notADataset(`${typeof dataset} is not a dataset`, HELP);
  if (isGetter(dataset)) return getterSource(dataset, collate);
  const table = asColumns(dataset);
  if (table && collate) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      "DataLoader: 'collate' does not apply to rows of tensors, which are already batched.",
      {
        help: 'Leave collate out, or give the samples as an array or {length, get(i)}.',
        details: { path: ['collate'] },
      },
    );
  }
  if (table) return columnSource(table);
  if (Array.isArray(dataset) || isNumberArray(dataset)) return arraySource(dataset, collate);
  if (isStream(dataset)) return streamSource(dataset, collate);
  throw notADataset('this object is not a dataset', HELP);
}

/**
 * Wraps tensors as columns, unless they may be samples. An array of tensors counts as columns only
 * if their shapes differ, so that they could not be stacked.
 */
function asColumns(dataset: object): Columns | undefined {
  if (dataset instanceof Columns) return dataset;
  if (dataset instanceof Tensor) return new Columns(dataset);
  if (isPlainRecord(dataset)) return tensorsIn(dataset).length > 0 ? new Columns(dataset) : undefined;
  return Array.isArray(dataset) && isTable(dataset) ? new Columns(dataset) : undefined;
}

function isTable(items: readonly unknown[]): boolean {
  if (!items.every((item) => item instanceof Tensor)) return false;
  const shapes = items.map(({ shape }) => shape);
  const sameRows = shapes.every((shape) => shape.length > 0 && shape[0] === shapes[0]![0]);
  return sameRows && shapes.some((shape) => !util.arraysEqual(shape, shapes[0]!));
}

function isGetter(dataset: object): dataset is IndexedDataset<unknown> {
  return 'length' in dataset && 'get' in dataset && typeof dataset.get === 'function';
}
