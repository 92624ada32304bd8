/** `node bench/trackers.mjs`: measures how much logging adds to a training step. See README.md. */
import { Accelerator, DataLoader } from '@acc/core';
import { setNumThreads } from '@acc/native';
import * as tf from '@tensorflow/tfjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { parseTrackersOptions, trackersUsage } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { median } from './harness/statistics.mjs';

const SCALARS_PER_SECOND = 1_000;
const TRACKERS = ['jsonl', 'csv', 'tensorboard', 'wandb', 'mlflow'];
/** The modes run in turn. Two of them log nothing, and their difference is noise. */
const MODES = ['silent', 'logging', 'silent again'];
const BLOCK_MS = 2_000;
/** Requests that are sent shortly after a block belong to it. */
const SETTLE_MS = 1_200;

/**
 * Runs blocks of steps in each mode, in turn, until logging has taken the given number of seconds.
 * Returns the ms of each step.
 */
async function train({ seconds, folder, url }) {
  const accelerator = await Accelerator.create({
    engine: 'acc',
    device: 'cpu',
    logWith: TRACKERS,
    projectDir: folder,
  });
  setNumThreads(1);
  const perTracker = { mlflow: { url }, wandb: { upload: 'never' } };
  const { model, loader } = workload();
  const [, optimizer, data] = accelerator.prepare(model, tf.train.adam(1e-3), loader);
  await accelerator.initTrackers('bench', {}, perTracker);
  const blocks = new Blocks(seconds);
  while (!blocks.isDone) {
    for await (const { xs, ys } of data) {
      const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(ys, model.apply(xs)), true);
      const value = loss.dataSync()[0];
      if (blocks.mode === 'logging') accelerator.log(scalars(value, blocks.dueScalars()));
      tf.dispose([loss, xs, ys]);
      blocks.endStep();
      if (blocks.isDone) break;
    }
  }
  await accelerator.endTraining();
  return blocks;
}

/** A step of some milliseconds. */
function workload() {
  const layers = [
    tf.layers.dense({ units: 1024, activation: 'relu', inputShape: [784] }),
    tf.layers.dense({ units: 1024, activation: 'relu' }),
    tf.layers.dense({ units: 10 }),
  ];
  const model = tf.sequential({ layers });
  const rows = 64 * 50;
  const xs = tf.randomUniform([rows, 784]);
  const ys = tf.oneHot(tf.randomUniform([rows], 0, 10, 'int32'), 10).toFloat();
  return { model, loader: new DataLoader({ xs, ys }, { batchSize: 64 }) };
}

/** Returns `count` numbers to log, the loss among them. */
function scalars(loss, count) {
  const values = { loss };
  for (let i = 1; i < count; i++) values[`layer/${i}`] = i / 3;
  return values;
}

/** The current mode, and the times of its steps. */
class Blocks {
  steps = Object.fromEntries(MODES.map((mode) => [mode, []]));
  cpuMs = Object.fromEntries(MODES.map((mode) => [mode, 0]));
  logged = 0;
  #seconds;
  #index = 0;
  #startMs = performance.now();
  #lastLogMs = performance.now();
  #lastStepMs;
  #loggingMs = 0;
  #cpu;

  constructor(seconds) {
    this.#seconds = seconds;
  }

  get mode() {
    return MODES[this.#index % MODES.length];
  }

  get isDone() {
    return this.#loggingMs >= 1000 * this.#seconds;
  }

  get scalarsPerSecond() {
    return this.logged / (this.#loggingMs / 1000);
  }

  dueScalars() {
    const now = performance.now();
    const count = Math.max(1, Math.floor(((now - this.#lastLogMs) / 1000) * SCALARS_PER_SECOND));
    this.#lastLogMs += (1000 * count) / SCALARS_PER_SECOND;
    this.logged += count;
    return count;
  }

  /** A step lasts from the end of the previous one, so it includes the event loop in between. */
  endStep() {
    const now = performance.now();
    const elapsedMs = now - this.#startMs;
    if (this.#cpu) this.steps[this.mode].push(now - this.#lastStepMs);
    else if (elapsedMs > SETTLE_MS) this.#cpu = process.cpuUsage();
    this.#lastStepMs = now;
    if (elapsedMs < SETTLE_MS + BLOCK_MS) return;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.cpuMs[this.mode] += (user + system) / 1000;
    this.#cpu = undefined;
    if (this.mode === 'logging') this.#loggingMs += elapsedMs;
    this.#index++;
    this.#startMs = this.#lastLogMs = now;
  }
}

function format(blocks) {
  const base = median(blocks.steps['silent']);
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const cells = MODES.map((mode) => {
    const list = blocks.steps[mode];
    const figures = [median(list), median(list) / base, mean(list), blocks.cpuMs[mode] / list.length];
    return [mode, list.length.toLocaleString('en'), ...figures.map((figure) => figure.toFixed(3))];
  });
  const titles = [
    'blocks',
    'steps',
    'median, ms',
    'median / silent',
    'mean, ms',
    'CPU of all threads, ms per step',
  ];
  return `${formatColumns(titles, cells)}

An MLP of 784-1024-1024-10 with batches of 64 and one thread. ${blocks.logged.toLocaleString('en')} scalars were logged, ${Math.round(blocks.scalarsPerSecond)} per
second, to ${TRACKERS.join(', ')} at the same time. MLflow's server is a process that stores nothing. Blocks of
${BLOCK_MS / 1000} s take turns, and ${SETTLE_MS / 1000} s between them are not measured. A step lasts from the end of the previous one, so it includes the work of
trackers between steps. The difference between the two silent blocks is noise.`;
}

await exitOnError(async () => {
  const { seconds, help } = parseTrackersOptions(process.argv.slice(2));
  if (help) return console.log(trackersUsage);
  const machine = describeMachine();
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-trackers-'));
  const server = spawn(process.execPath, [join(import.meta.dirname, 'harness', 'sink-server.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [port] = await once(server.stdout, 'data');
  const measured = await train({ seconds, folder, url: `http://127.0.0.1:${Number(port)}` });
  server.stdin.end();
  rmSync(folder, { recursive: true });

  const versions = { node: process.versions.node, tfjs: tf.version['tfjs-core'] };
  const head = formatHead({ name: 'trackers', machine, versions, options: { device: 'cpu' } });
  const text = `${head}\n\n${format(measured)}\n\nRepeat it: \`npm run bench:trackers\`\n`;
  console.log(`${text}\n${writeResult('trackers.md', text)}`);
});
