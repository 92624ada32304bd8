// Augmented images by worker threads. Saves in mid-epoch, or goes on from there on another number of
// ranks, with another number of workers.
import * as tf from '@tensorflow/tfjs';
import { imageFolder, type ImageFolderOptions } from '@acc/data/image-folder';
import { Accelerator, DataLoader } from '@acc/core';
import { reportResult } from '@acc/testkit';

type JpegDecoder = NonNullable<ImageFolderOptions['jpegDecoder']>;

const [mode, folder, root, options] = process.argv.slice(2) as ['save' | 'go-on', string, string, string];
const accelerator = await Accelerator.create({ seed: 5 });

/** The rows of all ranks, without filling, in the order of the job. */
function rowsOf(batch: tf.Tensor): unknown[] {
  const gathered = accelerator.gatherForMetrics(batch) as tf.Tensor;
  const rows = gathered.arraySync() as unknown[];
  gathered.dispose();
  return rows;
}

async function train() {
  const images = await imageFolder(`${root}/many`, JSON.parse(options) as object);
  const numWorkers = mode === 'save' ? 2 : accelerator.numProcesses % 3;
  const own = new DataLoader(images, { batchSize: 3, shuffle: true, numWorkers });
  const loader = accelerator.prepare(own) as AsyncIterable<{ image: tf.Tensor; label: tf.Tensor }>;
  if (mode === 'go-on') await accelerator.loadState(folder);
  const seen: { pixels: unknown; label: unknown }[] = [];
  let dtypes: string[] = [];
  let step = 0;
  const { numTensors } = tf.memory();
  for await (const { image, label } of loader) {
    dtypes = [image.dtype, label.dtype];
    const labels = rowsOf(label);
    rowsOf(image).forEach((pixels, i) => seen.push({ pixels, label: labels[i] }));
    tf.dispose([image, label]);
    if (mode === 'save' && ++step === 2) {
      await accelerator.saveState(folder);
      break;
    }
  }
  await own.close();
  return { seen, dtypes, leaked: tf.memory().numTensors - numTensors };
}

async function broken(numWorkers: number, jpegDecoder: JpegDecoder) {
  const images = await imageFolder(`${root}/broken`, { jpegDecoder });
  const loader = new DataLoader(images, { batchSize: 2, numWorkers });
  let batches = 0;
  try {
    for await (const batch of loader) {
      tf.dispose(batch as never);
      batches++;
    }
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { batches, code, message };
  } finally {
    await loader.close();
  }
  return { batches };
}

const trained = await train();
const cases = [
  [0, 'sharp'],
  [2, 'sharp'],
  [2, '@napi-rs/image'],
] as const;
const failures = [];
if (mode === 'save' && accelerator.isMainProcess) {
  for (const [numWorkers, decoder] of cases) failures.push(await broken(numWorkers, decoder));
}
accelerator.freeMemory();
reportResult({ ...trained, failures });
