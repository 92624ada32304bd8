// Batches that worker threads make, and batches that rank 0 reads for all ranks. Saves in mid-epoch,
// or goes on from there on another number of ranks.
import * as tf from '@tensorflow/tfjs';
import { columns, moduleDataset } from '@acc/data';
import { Accelerator, DataLoader } from '@acc/core';

const SAMPLES = 46;
const module = new URL('./squares-dataset.mjs', import.meta.url);
interface Args {
  readonly mode: 'save' | 'go-on';
  readonly folder: string;
}

interface Batch {
  readonly [key: string]: tf.Tensor;
}

/** The rows of all ranks, without filling, in the order of the job. */
function rowsOf(accelerator: Accelerator, batch: tf.Tensor): number[] {
  const gathered = accelerator.gatherForMetrics(batch) as tf.Tensor;
  const rows = [...gathered.dataSync()];
  gathered.dispose();
  return rows;
}

async function withWorkers(accelerator: Accelerator, { mode, folder }: Args) {
  const dataset = await moduleDataset(module, { args: [SAMPLES] });
  const options = { batchSize: 3, shuffle: true, seed: 5 };
  const loader = accelerator.prepare(new DataLoader(dataset, { ...options, numWorkers: 2 }));
  if (mode === 'go-on') await accelerator.loadState(folder);
  const seen: number[] = [];
  let isRight = true;
  let step = 0;
  for await (const batch of loader as AsyncIterable<Batch>) {
    const numbers = [...batch['square']!.dataSync()].map(Math.sqrt);
    const pixels = numbers.flatMap((i) => Array.from({ length: 6 }, (_, at) => i + at));
    isRight &&= String([...batch['image']!.dataSync()]) === String(pixels);
    isRight &&= String(batch['image']!.shape) === String([numbers.length, 2, 3]);
    isRight &&= String(batch['name']!.dataSync()) === String(numbers.map((i) => `square ${i}`));
    // Samples were made in other threads.
    isRight &&= batch['isHere']!.dataSync().every((value) => !value);
    seen.push(...rowsOf(accelerator, batch['square']!).map(Math.sqrt));
    tf.dispose(batch as never);
    if (mode === 'save' && ++step === 4) {
      await accelerator.saveState(folder);
      break;
    }
  }
  await (loader as unknown as DataLoader).close();
  return { seen, isRight };
}

async function failing(more: object) {
  const dataset = await moduleDataset(module, { args: [SAMPLES, more] });
  const loader = new DataLoader(dataset, { batchSize: 4, numWorkers: 2 });
  let batches = 0;
  try {
    for await (const batch of loader) {
      tf.dispose(batch as never);
      batches++;
    }
    return { batches };
  } catch (error) {
    const { code, message, cause } = error as { code: string; message: string; cause?: Error };
    return { batches, code, message, cause: cause?.message };
  } finally {
    await loader.close();
  }
}

async function ownCollate() {
  const dataset = await moduleDataset<{ square: number }>(module, { args: [5] });
  const collate = (samples: { square: number }[]) => tf.tensor1d(samples.map(({ square }) => square));
  const rows: number[] = [];
  const loader = new DataLoader(dataset, { batchSize: 2, numWorkers: 1, prefetch: 0, collate });
  for await (const batch of loader) {
    rows.push(...batch.dataSync());
    batch.dispose();
  }
  return rows;
}

/** Rank 0 reads for all: other ranks would fail. */
async function dispatched(rank: number) {
  const accelerator = await Accelerator.create({
    dataLoader: { dispatchBatches: true, prefetch: 2 },
    seed: 5,
  });
  const collected: Record<string, number[]> = {};
  const { numTensors } = tf.memory();
  const collect = async (name: string, loader: object, key?: string) => {
    const rows: number[] = (collected[name] = []);
    for await (const batch of accelerator.prepare(loader) as AsyncIterable<Batch>) {
      rows.push(...rowsOf(accelerator, key ? batch[key]! : (batch as unknown as tf.Tensor)));
      tf.dispose(batch as never);
    }
  };
  async function* stream() {
    if (rank > 0) throw new Error('another rank reads');
    for (let i = 0; i < 23; i++) yield { i, name: `row ${i}`, flag: i % 2 === 0 };
  }
  const get = async (i: number) => {
    if (rank > 0) throw new Error('another rank reads');
    return i;
  };
  await collect('stream', new DataLoader(stream, { batchSize: 4 }), 'i');
  await collect('flags', new DataLoader(stream, { batchSize: 4 }), 'flag');
  await collect('getter', new DataLoader({ length: 23, get }, { batchSize: 4, shuffle: true }));
  const table = tf.range(0, 23);
  await collect('columns', new DataLoader(columns({ table }), { batchSize: 4, dropLast: true }), 'table');
  table.dispose();
  const leaked = tf.memory().numTensors - numTensors;
  const refused = await refusals(accelerator);
  accelerator.freeMemory();
  return { collected, leaked, refused };
}

async function refusals(accelerator: Accelerator) {
  const codes: (string | undefined)[] = [];
  const tried = async (work: () => Promise<unknown>) => {
    try {
      await work();
      codes.push('none');
    } catch (error) {
      codes.push((error as { code?: string }).code ?? (error as Error).message);
    }
  };
  await tried(async () => accelerator.prepare(tf.data.array([tf.ones([2])])));
  await tried(async () => {
    const get = (i: number) => {
      if (i === 9) throw new Error('the disk is gone');
      return i;
    };
    for await (const batch of accelerator.prepare(new DataLoader({ length: 30, get }, { batchSize: 2 }))) {
      batch.dispose();
    }
  });
  return codes;
}

export default async function dataLoading(args: Args) {
  const accelerator = await Accelerator.create({ seed: 5 });
  const rank = accelerator.processIndex;
  const workers = await withWorkers(accelerator, args);
  const alone = args.mode === 'save' && rank === 0;
  const failures = alone && {
    sample: await failing({ at: [9, 10] }),
    exit: await failing({ exitAt: 9 }),
    rows: await ownCollate(),
  };
  accelerator.freeMemory();
  return { workers, failures, dispatched: await dispatched(rank) };
}
