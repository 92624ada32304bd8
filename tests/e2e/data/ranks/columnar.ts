// Rows of Parquet or Arrow files by worker threads: each rank reads blocks of its own from a web server.
// Saves in mid-epoch, or goes on from there on another number of ranks.
import * as tf from '@tensorflow/tfjs';
import { arrowDataset } from '@acc/data/arrow';
import { parquetDataset } from '@acc/data/parquet';
import { Accelerator, DataLoader } from '@acc/core';

interface Args {
  readonly mode: 'save' | 'go-on' | 'whole';
  readonly format: 'parquet' | 'arrow';
  readonly folder: string;
  readonly address: string;
}

export default async function columnar({ mode, format, folder, address }: Args) {
  const accelerator = await Accelerator.create({ seed: 5 });
  const own = `${address}/${format}-${mode}-${accelerator.numProcesses}-${accelerator.processIndex}`;
  const open = format === 'parquet' ? parquetDataset : arrowDataset;
  const files = [0, 1].map((i) => `${own}/rows-${i}.${format}`);
  const rows = await open(files, { columns: ['id', 'score', 'vector'] });
  const loader = new DataLoader(rows, {
    batchSize: 5,
    sampler: rows.sampler({ lanes: 6 }),
    numWorkers: mode === 'go-on' ? 1 : 2,
  });
  const data = accelerator.prepare(loader) as unknown as AsyncIterable<Record<string, tf.Tensor>>;
  if (mode === 'go-on') await accelerator.loadState(folder);
  const seen: number[] = [];
  let isRight = true;
  let dtypes: string[] = [];
  let step = 0;
  for await (const { id, score, vector } of data) {
    const ids = [...id!.dataSync()];
    dtypes = [id!.dtype, score!.dtype, vector!.dtype];
    isRight &&= String([...score!.dataSync()]) === String(ids.map((i) => i / 8));
    isRight &&= String(vector!.arraySync()) === String(ids.map((i) => [i, i + 0.5, -i]));
    const gathered = accelerator.gatherForMetrics(id!) as tf.Tensor;
    seen.push(...gathered.dataSync());
    tf.dispose([id!, score!, vector!, gathered]);
    if (mode === 'save' && ++step === 4) {
      await accelerator.saveState(folder);
      break;
    }
  }
  await loader.close();
  accelerator.freeMemory();
  return { seen, isRight, dtypes };
}
