// The parts of the launcher and of training that ranks have on every system, as a plain program:
// `npm run test:platforms`, after `npm run setup`. The last line is `N passed, N failed`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launch } from '@acc/cli';
import { Accelerator } from '@acc/core';
import { freePort } from '@acc/platform/ports';
import * as tf from '@tensorflow/tfjs';

const ACC = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
/** Its name has what some systems write in another way: blanks, capitals, and a letter beyond ASCII. */
const temporary = realpathSync(mkdtempSync(join(tmpdir(), 'acc-portable-')));
const folder = join(temporary, 'My Größe');
mkdirSync(folder);
const LIMIT_MS = 120_000;

/** Started by {@link acc}. */
const launchers = [];

/** Starts `acc`. `printed` grows while it runs. */
function acc(...args) {
  const child = spawn(process.execPath, [ACC, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  launchers.push(child);
  const run = { child, printed: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (run.printed += text));
  run.ended = once(child, 'close').then(([code]) => code);
  return run;
}

async function until(isTrue, what) {
  const end = performance.now() + LIMIT_MS;
  while (!isTrue()) {
    if (performance.now() > end) throw new Error(`${what} took longer than ${LIMIT_MS / 1000} s`);
    await sleep(50);
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    // A container whose first process reaps no orphans keeps zombies.
    return !/^State:\s*[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** A program whose ranks print their process, and stay. */
const STAYING = "console.log('process', process.pid); setInterval(() => {}, 1000);";

/** Starts two ranks that stay. Resolves with the run and their processes. */
async function startStaying() {
  const run = acc('launch', '-n', '2', 'staying.mjs');
  const found = () => Array.from(run.printed.matchAll(/process (\d+)\n/g), ([, pid]) => Number(pid));
  await until(() => found().length === 2, 'the start of two ranks');
  return { run, pids: found() };
}

const programs = {
  'staying.mjs': STAYING,
  'telling.mjs':
    "console.log(`rank ${process.env.RANK} of ${process.env.WORLD_SIZE}: ${process.argv.slice(2).join('|')}`);",
  'failing.mjs': `if (process.env.RANK === '1') process.exit(3); ${STAYING}`,
  'typed.mts': "const rank: number = Number(process.env['RANK']); console.log(`typed ${rank}`);",
};
for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, name), text);

/** A step of training, whose weights are known. */
async function train(options, steps) {
  const accelerator = await Accelerator.create({ projectDir: folder, ...options });
  const layer = tf.layers.dense({ units: 1, inputShape: [2], useBias: false, weights: [tf.ones([2, 1])] });
  const [model, optimizer] = accelerator.prepare(tf.sequential({ layers: [layer] }), tf.train.sgd(0.25));
  const xs = tf.tensor2d([[1, 2]]);
  for (let step = 0; step < steps; step++) optimizer.minimize(() => tf.mean(model.apply(xs)));
  return { accelerator, weights: () => [...model.getWeights()[0].dataSync()] };
}

const onOneProcess = {
  'a free port can be listened on': async () => {
    const server = createServer().listen(await freePort('127.0.0.1'), '127.0.0.1');
    await once(server, 'listening');
    server.close();
  },

  'acc env names the system': async () => {
    const run = acc('env');
    await run.ended;
    assert.match(run.printed, new RegExp(`${process.platform}-${process.arch}`));
  },

  'one process trains on a backend of tfjs, saves and loads': async () => {
    await tf.setBackend('cpu');
    const first = await train({ engine: 'tfjs', checkpoint: { keepLast: 1 } }, 1);
    assert.deepEqual(first.weights(), [0.75, 0.5]);
    await first.accelerator.saveState(join(folder, 'a state'));
    await first.accelerator.endTraining();
    const second = await train({ engine: 'tfjs', checkpoint: { keepLast: 1 } }, 0);
    await second.accelerator.loadState(join(folder, 'a state'));
    assert.deepEqual(second.weights(), [0.75, 0.5]);
    await second.accelerator.endTraining();
  },
};

const ofLaunches = {
  'ranks get their numbers and arguments': async () => {
    const run = acc('launch', '-n', '2', 'telling.mjs', 'a b', 'ü');
    assert.equal(await run.ended, 0, run.printed);
    for (const rank of [0, 1]) assert.match(run.printed, new RegExp(`rank ${rank} of 2: a b\\|ü`));
  },

  'a TypeScript program is transpiled': async () => {
    const run = acc('launch', '-n', '2', 'typed.mts');
    assert.equal(await run.ended, 0, run.printed);
    assert.match(run.printed, /typed 1/);
  },

  'the exit code of a rank that fails is that of the launcher, and the others end': async () => {
    const run = acc('launch', '-n', '2', '--grace', '1', 'failing.mjs');
    assert.equal(await run.ended, 3, run.printed);
    const [, pid] = /process (\d+)\n/.exec(run.printed) ?? [];
    if (pid !== undefined) await until(() => !isRunning(Number(pid)), 'the end of rank 0');
  },

  'SIGTERM to the launcher ends the ranks': async () => {
    const { run, pids } = await startStaying();
    run.child.kill('SIGTERM');
    assert.equal(await run.ended, 143, run.printed);
    await until(() => !pids.some(isRunning), 'the end of the ranks');
  },

  'ranks end after their launcher was killed': async () => {
    const { run, pids } = await startStaying();
    run.child.kill('SIGKILL');
    await until(() => !pids.some(isRunning), 'the end of the ranks');
  },

  'a launched function returns its results': async () => {
    const results = await launch((base) => base + Number(process.env['RANK']), {
      numProcesses: 2,
      args: [10],
      url: import.meta.url,
    });
    assert.deepEqual(results, [10, 11]);
  },
};

const withLibtorch = Object.fromEntries(
  ['gloo', 'auto'].map((engine) => [
    `two ranks train with libtorch and the collective engine ${engine}`,
    async () => {
      const results = await launch(
        async (collective) => {
          const tfjs = await import('@tensorflow/tfjs');
          const acc = await import('@acc/core');
          const accelerator = await acc.Accelerator.create({ engine: 'acc', collective });
          const weights = [tfjs.ones([2, 1])];
          const layer = tfjs.layers.dense({ units: 1, inputShape: [2], useBias: false, weights });
          const [model, optimizer] = accelerator.prepare(
            tfjs.sequential({ layers: [layer] }),
            tfjs.train.sgd(0.25),
          );
          const xs = tfjs.tensor2d([[2 * accelerator.processIndex, 2]]);
          optimizer.minimize(() => tfjs.mean(model.apply(xs)));
          const values = [...model.getWeights()[0].dataSync()];
          await accelerator.endTraining();
          return [tfjs.getBackend(), ...values];
        },
        { numProcesses: 2, args: [{ engine }], url: import.meta.url },
      );
      assert.deepEqual(results, [
        ['acc', 0.75, 0.5],
        ['acc', 0.75, 0.5],
      ]);
    },
  ]),
);

const tests = {
  ...onOneProcess,
  ...ofLaunches,
  ...withLibtorch,
};
console.log(`${process.platform}-${process.arch}, Node.js ${process.version}`);
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`✓ ${name}`);
  } catch (error) {
    failed++;
    console.log(`✗ ${name}\n${error.stack}`);
  }
}
// A launcher that is left by a failed test; its ranks end after it.
for (const launcher of launchers) launcher.kill('SIGKILL');
rmSync(temporary, { recursive: true, force: true });
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
