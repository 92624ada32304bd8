/** `node bench/records.mjs`: measures how much the records of a run add to a training step. See README.md. */
import { Accelerator } from '@acc/core';
import { setNumThreads } from '@acc/native';
import * as tf from '@tensorflow/tfjs';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { median } from './harness/statistics.mjs';

const TURNS = 7;
const TURN_MS = 3_000;
const BLOCK_STEPS = 100;
/** Two turns of a round record nothing, and their difference is noise. */
const MODES = ['off', 'on', 'off again'];

/** Trains a small model, and prints the median over blocks of the ms of a step. */
async function turn(mode) {
  const projectDir = mkdtempSync(join(tmpdir(), 'acc-bench-records-'));
  const autoLog = mode === 'on' ? { every: 100, system: false } : false;
  const accelerator = await Accelerator.create({ device: 'cpu', logWith: [], projectDir, autoLog });
  setNumThreads(1);
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 128, activation: 'relu', inputShape: [784] }),
      tf.layers.dense({ units: 10 }),
    ],
  });
  const [, optimizer] = accelerator.prepare(model, tf.train.adam(1e-3));
  await accelerator.initTrackers('bench');
  const xs = tf.randomNormal([64, 784]);
  const ys = tf.oneHot(tf.randomUniform([64], 0, 10, 'int32'), 10);
  const blocks = [];
  const begin = performance.now();
  while (performance.now() - begin < TURN_MS) {
    const start = performance.now();
    for (let i = 0; i < BLOCK_STEPS; i++)
      optimizer.minimize(() => tf.losses.softmaxCrossEntropy(ys, model.apply(xs, { training: true })));
    blocks.push((performance.now() - start) / BLOCK_STEPS);
  }
  await accelerator.endTraining();
  rmSync(projectDir, { recursive: true });
  // No other program has disturbed the fastest block.
  process.stdout.write(`\n${Math.min(...blocks)} ${median(blocks)}\n`);
}

function measure(mode) {
  const { stdout, status, stderr } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), mode], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`A turn failed: ${stderr}`);
  return stdout.trim().split('\n').at(-1).split(' ').map(Number);
}

async function main() {
  const times = Object.fromEntries(MODES.map((mode) => [mode, []]));
  for (let i = 0; i < TURNS; i++) for (const mode of MODES) times[mode].push(measure(mode));
  const best = (mode) => Math.min(...times[mode].map(([fastest]) => fastest));
  const middle = (mode) => median(times[mode].map(([, typical]) => typical));
  const added = (of, mode) => `${(100 * (of(mode) / of('off') - 1)).toFixed(2)} %`;
  const rows = MODES.map((mode) => [
    ...[mode, best(mode).toFixed(4), added(best, mode)],
    ...[middle(mode).toFixed(4), added(middle, mode)],
  ]);
  const columns = ['records', 'fastest block, ms a step', 'more than off', 'median block', 'more than off'];
  const versions = { node: process.versions.node, tfjs: tf.version['tfjs-core'] };
  const head = formatHead({
    name: 'records',
    machine: describeMachine(),
    versions,
    options: { device: 'cpu' },
  });
  const about = `An MLP (784-128-10, batch 64, Adam) on one thread, ${TURNS} rounds of ${MODES.length} turns of ${TURN_MS / 1000} s, each a
process, in blocks of ${BLOCK_STEPS} steps. \`on\` is \`autoLog\` with its records, watches and alerts, and figures once in 100
steps. The difference between both modes that are off is noise.`;
  const text = `${head}\n\n${formatColumns(columns, rows)}\n\n${about}\n\nRepeat it: \`npm run bench:records\`\n`;
  console.log(`${text}\n${writeResult('records.md', text)}`);
}

await exitOnError(() => (process.argv[2] ? turn(process.argv[2]) : main()));
