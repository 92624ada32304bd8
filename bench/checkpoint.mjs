/**
 * `node bench/checkpoint.mjs`: saves and loads a run, beside PyTorch + Accelerate and a raw write.
 * See README.md.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatCheckpoint } from './checkpoint/report.mjs';
import { startAnswering } from './harness/ask.mjs';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { checkpointUsage, parseCheckpointOptions } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { requireBuild } from './harness/sides.mjs';
import { benchDir } from './harness/workloads.mjs';
import { ensurePeer } from './peers/setup.mjs';

/** 1.19 GB: 99 M weights in float32 and Adam's two moments. */
const JOB = {
  sizes: { width: 768, heads: 12, sequence: 16, vocabulary: 96, layers: 14 },
  parameterCount: 14 * (12 * 768 ** 2 + 13 * 768) + (2 * 96 + 16 + 2) * 768,
  steps: 10,
  seed: 7,
};

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseCheckpointOptions(args);
  if (options.help) return console.log(checkpointUsage);
  requireBuild();
  const machine = describeMachine();
  const python = ensurePeer(options.python);
  const folder = options.folder ?? join(benchDir, '.checkpoints');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    const { figures, versions } = await measure(folder, { python, repeats: options.repeats });
    const head = formatHead({ name: options.name, machine, versions, options: { device: 'cpu' } });
    const command = ['npm run bench:checkpoint --', ...args].join(' ').replace(/ --$/, '');
    const text = `${head}\n\n${formatCheckpoint(figures, JOB)}\n\nRepeat it: \`${command}\`\n`;
    console.log(`${text}\n${writeResult(`${options.name}.md`, text)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/**
 * Measures everything `repeats` times. The sides take turns to be first. Two processes that stay
 * make all saves. Each load has a new process.
 */
async function measure(folder, { python, repeats }) {
  const jobPath = join(folder, 'job.json');
  writeFileSync(jobPath, JSON.stringify(JOB));
  const commands = {
    ours: [process.execPath, ['--import', 'tsx', `${benchDir}checkpoint/ours.ts`, jobPath]],
    theirs: [python, [`${benchDir}peers/checkpoint.py`, jobPath]],
  };
  const started = [];
  const start = async (side) => {
    const one = await startAnswering(...commands[side], { OMP_NUM_THREADS: '1', ACCELERATE_USE_CPU: 'true' });
    started.push(one);
    return one;
  };
  try {
    const saving = { ours: await start('ours'), theirs: await start('theirs') };
    for (const one of Object.values(saving)) await one.ask('step x');
    const figures = { ours: [], theirs: [] };
    for (let repeat = 0; repeat < repeats; repeat++) {
      const found = await measureOnce(folder, { saving, start, isTurned: repeat % 2 === 1 });
      for (const [side, times] of Object.entries(found)) figures[side].push(times);
      console.error(JSON.stringify(found));
    }
    return { figures, versions: { ...saving.ours.ready.versions, ...saving.theirs.ready.versions } };
  } finally {
    for (const one of started) await one.end();
  }
}

async function measureOnce(folder, { saving, start, isTurned }) {
  const found = { ours: {}, theirs: {} };
  const turned = (list) => (isTurned ? list.toReversed() : list);
  const placeOf = (name) => join(folder, name);
  const ask = async (one, side, command, name) =>
    Object.assign(found[side], await one.ask(`${command} ${placeOf(name)}`));
  for (const command of turned(['raw', 'direct'])) {
    settle(placeOf('raw'));
    await ask(saving.ours, 'ours', command, 'raw');
  }
  settle(placeOf('raw'));
  for (const side of turned(['ours', 'theirs'])) {
    settle(placeOf(side));
    await ask(saving[side], side, 'save', side);
  }
  for (const side of turned(['ours', 'theirs'])) {
    const one = await start(side);
    warm(placeOf(side));
    await ask(one, side, 'load', side);
    await one.end();
  }
  settle(placeOf('ours'));
  await ask(saving.ours, 'ours', 'async', 'ours');
  return found;
}

/** Deletes earlier files, and waits until the disk has written everything. */
function settle(path) {
  rmSync(path, { recursive: true, force: true });
  execFileSync('sync');
}

/** Reads files once, so that both sides find theirs in the system's cache. */
function warm(folder) {
  for (const name of readdirSync(folder)) readFileSync(join(folder, name));
}
