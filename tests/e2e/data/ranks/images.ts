// Augmented images by worker threads. Saves in mid-epoch, or goes on from there on another number of
// ranks, with another number of workers.
import * as tf from '@tensorflow/tfjs';
import { imageFolder, type ImageFolderOptions } from '@acc/data/image-folder';
import { Accelerator, DataLoader } from '@acc/core';

type JpegDecoder = NonNullable<ImageFolderOptions['jpegDecoder']>;

interface Args {
  readonly mode: 'save' | 'go-on';
  readonly folder: string;
  readonly root: string;
  readonly options: ImageFolderOptions;
}

/** The rows of all ranks, without filling, in the order of the job. */
function rowsOf(accelerator: Accelerator, batch: tf.Tensor): unknown[] {
  const gathered = accelerator.gatherForMetrics(batch) as tf.Tensor;
  const rows = gathered.arraySync() as unknown[];
  gathered.dispose();
  return rows;
}

async function train(accelerator: Accelerator, { mode, folder, root, options }: Args) {
  const images = await imageFolder(`${root}/many`, options);
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
    const labels = rowsOf(accelerator, label);
    rowsOf(accelerator, image).forEach((pixels, i) => seen.push({ pixels, label: labels[i] }));
    tf.dispose([image, label]);
    if (mode === 'save' && ++step === 2) {
      await accelerator.saveState(folder);
      break;
    }
  }
  await own.close();
  return { seen, dtypes, leaked: tf.memory().numTensors - numTensors };
}

async function broken(root: string, numWorkers: number, jpegDecoder: JpegDecoder) {
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

const cases = [
  [0, 'sharp'],
  [2, 'sharp'],
  [2, '@napi-rs/image'],
] as const;

export default async function images(args: Args) {
  const accelerator = await Accelerator.create({ seed: 5 });
  const trained = await train(accelerator, args);
  const failures = [];
  if (args.mode === 'save' && accelerator.isMainProcess) {
    for (const [numWorkers, decoder] of cases) failures.push(await broken(args.root, numWorkers, decoder));
  }
  accelerator.freeMemory();
  // libvips, which sharp loads, sets it.
  delete process.env['VIPSHOME'];
  return { ...trained, failures };
}
