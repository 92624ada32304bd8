/**
 * Reads epochs of one case with our DataLoader: `tsx bench/data/ours.ts job.json`. Epochs of
 * the warm-up are not timed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { DataLoader, shaped } from '@acc/data';
import { imageFolder } from '@acc/data/image-folder';
import '@acc/kernels/register';
import * as tf from '@tensorflow/tfjs';
import { seededRandom } from '../models/index.js';
import { versions } from '../training.js';

interface Job {
  readonly case: 'columns' | 'samples' | 'images' | 'fastImages' | 'tokens';
  readonly samples: number;
  readonly batch: number;
  readonly workers: number;
  readonly warmup: number;
  readonly epochs: number;
  readonly sequence: number;
  readonly crop: number;
  readonly jpegDecoder: 'sharp' | '@napi-rs/image';
  readonly mean: number[];
  readonly std: number[];
  readonly path: string;
  readonly resultPath: string;
}

type Batch = Record<'x' | 'y', tf.Tensor>;

const PIXELS = 28 * 28;
const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const options = { batchSize: job.batch, shuffle: true, seed: 7, dropLast: true };

/** Digits as MNIST has them: bytes. */
function digits() {
  const random = seededRandom(1);
  const pixels = Uint8Array.from({ length: job.samples * PIXELS }, () => random() * 256);
  return { pixels, labels: Int32Array.from({ length: job.samples }, (_, i) => i % 10) };
}

async function openLoader(): Promise<DataLoader<Batch>> {
  if (job.case === 'columns') {
    const { pixels, labels } = digits();
    const x = tf.tensor(
      Float32Array.from(pixels, (byte) => byte / 255),
      [job.samples, 28, 28, 1],
    );
    return new DataLoader({ x, y: tf.tensor1d(labels) }, options);
  }
  if (job.case === 'samples') {
    const { pixels, labels } = digits();
    const get = (i: number) => {
      const x = new Float32Array(PIXELS);
      for (let at = 0; at < PIXELS; at++) x[at] = pixels[i * PIXELS + at]! / 255;
      return { x: shaped(x, [28, 28, 1]), y: shaped(labels.subarray(i, i + 1), []) };
    };
    return new DataLoader({ length: job.samples, get }, options);
  }
  if (job.case === 'tokens') {
    const bytes = readFileSync(job.path);
    const tokens = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
    const get = (i: number) => {
      const start = i * job.sequence;
      return {
        x: tokens.subarray(start, start + job.sequence),
        y: tokens.subarray(start + 1, start + job.sequence + 1),
      };
    };
    return new DataLoader({ length: job.samples, get }, options);
  }
  const { crop, mean, std, jpegDecoder } = job;
  const how = { randomResizedCrop: true, crop, randomFlip: true, mean, std, jpegDecoder } as const;
  const images = await imageFolder(job.path, how);
  return new DataLoader(images, { ...options, numWorkers: job.workers }) as unknown as DataLoader<Batch>;
}

await tf.setBackend('acc');
const loader = await openLoader();
const epochMs: number[] = [];
let samples = 0;
let shape: number[] = [];
const { numTensors } = tf.memory();
for (let epoch = -job.warmup; epoch < job.epochs; epoch++) {
  const start = performance.now();
  samples = 0;
  for await (const batch of loader) {
    const [x, y] = Object.values(batch) as [tf.Tensor, tf.Tensor];
    samples += x.shape[0]!;
    shape = x.shape;
    tf.dispose([x, y]);
  }
  if (epoch >= 0) epochMs.push(performance.now() - start);
}
await loader.close();
const result = { epochMs, samples, shape, leaked: tf.memory().numTensors - numTensors, versions: versions() };
writeFileSync(job.resultPath, JSON.stringify(result));
