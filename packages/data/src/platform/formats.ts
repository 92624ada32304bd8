import type { IndexedDataset } from '../sample-source.js';
import type { WorkerDataset } from '../workers/messages.js';

type Open = (state: never) => Promise<IndexedDataset<unknown>>;

/** How worker threads open datasets of files. A thread loads only the format that it reads. */
const FORMATS = {
  tfrecord: async (state) =>
    (await import('../formats/tfrecord/tfrecord-dataset.js')).tfrecordInWorker(state),
  arrow: async (state) => (await import('../formats/arrow/arrow-dataset.js')).arrowInWorker(state),
  imageFolder: async (state) => (await import('../formats/image-folder/open-images.js')).openImages(state),
  parquet: async (state) => (await import('../formats/parquet/parquet-dataset.js')).parquetInWorker(state),
  jsonl: async (state) => (await import('../formats/jsonl/jsonl-dataset.js')).jsonlInWorker(state),
  csv: async (state) => (await import('../formats/csv/csv-dataset.js')).csvInWorker(state),
  tokens: async (state) => (await import('../formats/text/packed-tokens.js')).tokensInWorker(state),
  webdataset: async (state) =>
    (await import('../formats/webdataset/webdataset.js')).webdatasetInWorker(state),
} satisfies Record<string, Open>;

export type FormatName = keyof typeof FORMATS;

/** How worker threads open a dataset of files. `state` is copied to them, and shared memory is shared. */
export function formatInWorker(format: FormatName, state: object): WorkerDataset {
  const module = new URL('./formats.js', import.meta.url).href;
  return { module, export: 'openFormat', args: [format, state] };
}

/** Runs in a worker thread. */
export function openFormat(format: FormatName, state: unknown): Promise<IndexedDataset<unknown>> {
  return (FORMATS[format] as Open)(state as never);
}
