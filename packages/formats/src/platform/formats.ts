import type { IndexedDataset, WorkerDataset } from '../samples/indexed-dataset.js';

type Open = (state: never) => Promise<IndexedDataset<unknown>>;

/** How worker threads open datasets of files. A thread loads only the format that it reads. */
const FORMATS = {
  tfrecord: async (state) => (await import('../tfrecord/tfrecord-dataset.js')).tfrecordInWorker(state),
  arrow: async (state) => (await import('../arrow/arrow-dataset.js')).arrowInWorker(state),
  imageFolder: async (state) => (await import('../image-folder/open-images.js')).openImages(state),
  parquet: async (state) => (await import('../parquet/parquet-dataset.js')).parquetInWorker(state),
  jsonl: async (state) => (await import('../jsonl/jsonl-dataset.js')).jsonlInWorker(state),
  csv: async (state) => (await import('../csv/csv-dataset.js')).csvInWorker(state),
  tokens: async (state) => (await import('../text/packed-tokens.js')).tokensInWorker(state),
  webdataset: async (state) => (await import('../webdataset/webdataset.js')).webdatasetInWorker(state),
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
