// Reads datasets of files with worker threads. Saves in mid-epoch, or goes on from there on another
// number of ranks. Then reads a whole epoch from a web server.
import { basename } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { csvDataset } from '@acc/data/csv';
import { jsonlDataset, type BlockDataset } from '@acc/data/jsonl';
import { packedTokens } from '@acc/data/text';
import { tfrecordDataset } from '@acc/data/tfrecord';
import { webdataset } from '@acc/data/webdataset';

interface Args {
  readonly mode: 'save' | 'go-on';
  readonly folder: string;
  readonly address: string;
}

interface Files {
  readonly indexFolder: string;
  readonly blockBytes: number;
  readonly onScan: (scan: { readonly file: string }) => void;
}

/** Datasets, and the key of the number of each sample. */
async function open(
  folder: string,
  files: Files,
): Promise<Record<string, { readonly dataset: BlockDataset<unknown>; readonly key: string }>> {
  const features = { id: { dtype: 'int32' } } as const;
  return {
    tfrecord: { dataset: await tfrecordDataset(`${folder}/t-*.tfrecord`, { ...files, features }), key: 'id' },
    webdataset: {
      dataset: await webdataset(`${folder}/w-{000..002}.tar`, {
        ...files,
        blockBytes: 9000,
        fields: ['cls'],
      }),
      key: 'cls',
    },
    jsonl: { dataset: await jsonlDataset(`${folder}/j-*.jsonl`, { ...files, keys: ['id'] }), key: 'id' },
    csv: {
      dataset: await csvDataset(`${folder}/c-*.csv`, { ...files, columns: { id: 'int32' } }),
      key: 'id',
    },
    tokens: {
      dataset: await packedTokens(`${folder}/numbered`, {
        sequenceLength: 8,
        dtype: 'int32',
        blockBytes: 64,
      }),
      key: 'inputs',
    },
  };
}

function loaderOf(accelerator: Accelerator, dataset: BlockDataset<unknown>) {
  const sampler = dataset.sampler({ batchSize: 4, lanes: 6 });
  return accelerator.prepare(new DataLoader(dataset, { batchSize: 4, sampler, seed: 5, numWorkers: 2 }));
}

type Batches = AsyncIterator<Record<string, tf.Tensor>>;

interface Reading {
  readonly batches: Batches;
  /** Of the number of each sample. */
  readonly key: string;
  readonly steps?: number;
}

/** The numbers of the samples of all ranks, without filling, in the order of the job. */
async function read(
  accelerator: Accelerator,
  { batches, key, steps = Infinity }: Reading,
): Promise<number[]> {
  const seen: number[] = [];
  for (let step = 0; step < steps; step++) {
    const { value: batch, done } = await batches.next();
    if (done) break;
    const gathered = accelerator.gatherForMetrics(batch[key]!) as tf.Tensor;
    const [rows, columns = 1] = gathered.shape as [number, number?];
    const values = gathered.dataSync();
    for (let row = 0; row < rows; row++) seen.push(values[row * columns]!);
    tf.dispose([batch as never, gathered]);
  }
  return seen;
}

const begin = (loader: object) => (loader as AsyncIterable<never>)[Symbol.asyncIterator]() as Batches;

export default async function formats({ mode, folder, address }: Args) {
  const accelerator = await Accelerator.create();
  const indexFolder = `${folder}/index`;
  /** The files that this rank scanned. Each of them is read in one piece. */
  const scanned: string[] = [];
  const onScan = ({ file }: { readonly file: string }) => void scanned.push(basename(file));
  const datasets = await open(folder, { indexFolder, blockBytes: 700, onScan });
  const loaders = Object.values(datasets).map(({ dataset }) => loaderOf(accelerator, dataset));
  if (mode === 'go-on') await accelerator.loadState(`${folder}/state`);
  const epochs = loaders.map(begin);
  const seen: Record<string, number[]> = {};
  for (const [i, [name, { key }]] of Object.entries(datasets).entries()) {
    seen[name] = await read(accelerator, { batches: epochs[i]!, key, steps: mode === 'save' ? 3 : Infinity });
  }
  if (mode === 'save') await accelerator.saveState(`${folder}/state`);
  for (const epoch of epochs) await epoch.return?.();
  for (const loader of loaders) await (loader as unknown as DataLoader).close();

  // Each rank has addresses of its own, so that the server knows who asks.
  const remote = await jsonlDataset(`${address}/${accelerator.processIndex}/{a,b}.jsonl`, {
    indexFolder,
    blockBytes: 64,
    keys: ['id'],
  });
  const whole = loaderOf(accelerator, remote);
  const fromServer = await read(accelerator, { batches: begin(whole), key: 'id' });
  await (whole as unknown as DataLoader).close();
  accelerator.freeMemory();
  return { seen, fromServer, scanned };
}
