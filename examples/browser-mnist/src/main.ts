// A tfjs convnet learns to read digits in this page.
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-webgpu';
import { Accelerator, DataLoader, download, LRScheduler, setSeed } from '@acc/core';
import { LossCurve } from './curve.js';
import { loadDigits, SIDE, type Digits } from './digits.js';
import { createModel } from './model.js';
import { Readings } from './readings.js';

const given = new URLSearchParams(location.search);
const BATCH = 64;

const element = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const trainButton = element<HTMLButtonElement>('train');
const modelButton = element<HTMLButtonElement>('model');
const logButton = element<HTMLButtonElement>('log');
const backend = element<HTMLSelectElement>('backend');
const show = (id: string, text: string) => (element(id).textContent = text);
const showDone = (share: number) => (element('bar').style.width = `${100 * share}%`);

const { epochs, train, heldBack } = await prepare().catch((error: unknown) => {
  showError(error);
  throw error;
});
const readings = new Readings(element('read'), heldBack);
const curve = new LossCurve(element<HTMLCanvasElement>('curve'), 1);
curve.draw();
showDone(0);
show('line', `${train.count} digits are loaded, ${heldBack.count} more are held back. Press Train.`);
trainButton.disabled = false;
trainButton.addEventListener('click', () => {
  trainButton.disabled = backend.disabled = true;
  trainModel().catch((error: unknown) => {
    showError(error);
    trainButton.disabled = backend.disabled = false;
  });
});

/** Reads the page's address and loads the digits. */
async function prepare() {
  const epochs = givenNumber('epochs', 4, 1, 100);
  // Fewer would not fill a batch.
  const digits = givenNumber('digits', 9000, 100, 9000);
  const wanted = given.get('backend') ?? 'webgl';
  backend.value = wanted;
  if (backend.value !== wanted) {
    const known = Array.from(backend.options, ({ value }) => value).join(', ');
    throw new Error(`?backend=${wanted}: expected one of ${known}.`);
  }
  return { epochs, ...(await loadDigits(digits, showDone)) };
}

/** A whole number from the page's address. */
function givenNumber(name: string, fallback: number, least: number, most: number): number {
  const text = given.get(name);
  if (text === null) return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Error(`?${name}=${text}: expected a whole number from ${least} to ${most}.`);
}

function showError(error: unknown): void {
  console.error(error);
  show('line', error instanceof Error ? error.message : String(error));
}

async function trainModel(): Promise<void> {
  if (!(await tf.setBackend(backend.value))) throw new Error(`This browser has no ${backend.value}.`);
  setSeed(1);
  const accelerator = await Accelerator.create({ logWith: ['jsonl'], gradientClipping: { norm: 5 } });
  try {
    await trainWith(accelerator);
  } catch (error) {
    await accelerator.endTraining('failed');
    throw error;
  } finally {
    accelerator.freeMemory();
  }
}

async function trainWith(accelerator: Accelerator): Promise<void> {
  await accelerator.initTrackers('digits', { backend: backend.value, epochs });
  const loader = new DataLoader(toTensors(train), { batchSize: BATCH, shuffle: true, dropLast: true });
  const [model, optimizer, data] = accelerator.prepare(createModel(), tf.train.adam(4e-3), loader);
  const steps = epochs * data.length!;
  const warmupSteps = Math.min(10, Math.floor(steps / 10));
  const schedule = accelerator.prepare(LRScheduler.cosine(optimizer, { warmupSteps, totalSteps: steps }));
  curve.restart(steps);

  const startMs = performance.now();
  let step = 0;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    for await (const { xs, ys } of data) {
      const cost = optimizer.minimize(() => lossOf(model, xs, ys), true)!;
      schedule.step();
      const loss = (await cost.data())[0]!;
      tf.dispose([xs, ys, cost]);
      step++;
      accelerator.log({ loss });
      curve.add(loss);
      const rate = (step * BATCH) / ((performance.now() - startMs) / 1000);
      show('loss', loss.toFixed(3));
      show('rate', String(Math.round(rate)));
      show('line', `Epoch ${epoch} of ${epochs}, step ${step} of ${steps}`);
      showDone(step / steps);
      if (step % 20 === 0) await showReadings(model);
    }
    const accuracy = await accuracyOf(model);
    accelerator.log({ accuracy });
    show('accuracy', `${(100 * accuracy).toFixed(1)} %`);
    await accelerator.saveState();
  }
  await showReadings(model);
  const seconds = (performance.now() - startMs) / 1000;
  const { runDir } = accelerator;
  await accelerator.saveModel(model, 'opfs://digits');
  await accelerator.endTraining();
  show(
    'line',
    `Trained in ${seconds.toFixed(1)} s on ${accelerator.backendName}. The run is kept in this browser.`,
  );
  offer(modelButton, () => download('opfs://digits'));
  offer(logButton, () => download(`${runDir}/metrics.jsonl`));
  trainButton.textContent = 'Trained';
  document.documentElement.dataset['state'] = 'trained';
}

function offer(button: HTMLButtonElement, work: () => Promise<void>): void {
  button.disabled = false;
  button.addEventListener('click', () => void work().catch(showError));
}

function toTensors({ count, images, labels }: Digits) {
  const xs = tf.tensor4d(images, [count, SIDE, SIDE, 1]);
  return { xs, ys: tf.tidy(() => tf.oneHot(tf.tensor1d(labels, 'int32'), 10)) };
}

function lossOf(model: tf.LayersModel, xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  return tf.losses.softmaxCrossEntropy(ys, model.apply(xs, { training: true }) as tf.Tensor).asScalar();
}

async function accuracyOf(model: tf.LayersModel): Promise<number> {
  const read = await readingsOf(model, heldBack.images, heldBack.count);
  return read.filter((digit, i) => digit === heldBack.labels[i]).length / heldBack.count;
}

async function showReadings(model: tf.LayersModel): Promise<void> {
  const size = SIDE * SIDE;
  const images = new Float32Array(readings.indices.length * size);
  readings.indices.forEach((index, k) =>
    images.set(heldBack.images.subarray(index * size, (index + 1) * size), k * size),
  );
  readings.show(await readingsOf(model, images, readings.indices.length));
}

async function readingsOf(model: tf.LayersModel, images: Float32Array, count: number): Promise<Int32Array> {
  const read = tf.tidy(() =>
    tf.argMax(model.predict(tf.tensor4d(images, [count, SIDE, SIDE, 1])) as tf.Tensor, 1),
  );
  const digits = (await read.data()) as Int32Array;
  read.dispose();
  return digits;
}
