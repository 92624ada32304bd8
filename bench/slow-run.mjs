/**
 * `node bench/slow-run.mjs [--records <folder>]`: trains `examples/slow-run`, sick and mended step by step, and
 * draws where its time and its memory go. With `--records` it keeps the records of the sick run there. See
 * README.md.
 */
import { diagnose, drawBars, readRecords, stepTimes } from '@acc/records';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { runProcess } from './harness/run-process.mjs';

const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const ACC = pathOf('../packages/core/bin/acc.js');
const PROGRAM = pathOf('../examples/slow-run/train.ts');
/** Each run mends one sickness more, in the order in which the diagnosis names them. */
const RUNS = [
  { name: 'sick', mend: [] },
  { name: 'memory mended', mend: ['memory'] },
  { name: 'communication too', mend: ['memory', 'communication'] },
  { name: 'balance too', mend: ['memory', 'communication', 'balance'] },
];
const PARTS = ['computation', 'waits for other ranks', 'batches', 'own code'];
const MIB = 2 ** 20;
const { values } = parseArgs({ options: { records: { type: 'string' } } });

async function train({ mend }, folder) {
  const args = mend.flatMap((name) => ['--mend', name]);
  const env = { ACC_PROJECT_DIR: folder };
  const launch = [ACC, 'launch', '-n', '2', '--threads', '1', PROGRAM, ...args];
  await runProcess(process.execPath, launch, env);
  const runs = join(folder, 'runs', 'slow-run');
  return join(runs, readdirSync(runs)[0]);
}

/** The parts of a step of each rank, in ms. */
function barsOf({ name, times }) {
  return times.byRank.map(({ compute, communication, imbalance, data, saves, loop }, rank) => ({
    name: `${name}, rank ${rank}`,
    parts: [compute, communication + imbalance, data, saves + loop].map((share) => share * times.stepMs),
  }));
}

/** The memory of tensors at the first and at the last step that logs it, in MiB. */
function memoryOf({ name, recorded }) {
  const bytes = recorded.ranks[0].steps.map(({ allocatedBytes }) => allocatedBytes).filter(Number.isFinite);
  const [first, last] = [bytes[0], bytes.at(-1)].map((each) => each / MIB);
  return { name, parts: [first, Math.max(0, last - first)] };
}

function draw(name, bars, texts) {
  writeFileSync(pathOf(`results/slow-run-${name}.svg`), drawBars(bars, texts));
}

async function measure() {
  const folder = mkdtempSync(join(tmpdir(), 'acc-slow-run-'));
  try {
    const results = [];
    for (const run of RUNS) {
      const path = await train(run, join(folder, run.name));
      if (values.records && run === RUNS[0])
        cpSync(join(path, 'insight'), values.records, { recursive: true });
      const recorded = await readRecords(path);
      const { findings } = await diagnose(path);
      results.push({ name: run.name, recorded, times: stepTimes(recorded), findings });
    }
    return results;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function main() {
  const results = await measure();
  const ofSteps = { title: 'a step', parts: PARTS, unit: 'ms' };
  draw('before', barsOf(results[0]), { ...ofSteps, label: 'The parts of a step of both ranks' });
  draw('after', results.flatMap(barsOf), {
    ...ofSteps,
    label: 'The parts of a step of both ranks, before and after each change',
  });
  draw('memory', results.map(memoryOf), {
    ...{ title: 'tensors of rank 0', parts: ['at step 10', 'added until the end'], unit: 'MiB' },
    label: 'The memory of tensors at the begin and at the end, before and after each change',
  });
  console.log(describeMachine());
  for (const { name, times, findings } of results) {
    const found = findings.map(({ id, share, gain }) => {
      const gained = gain ? `, gain ${Math.round(100 * gain.mid)} %` : '';
      return `${id} ${Math.round(100 * share)} %${gained}`;
    });
    console.log(`${name}: ${times.stepMs.toFixed(2)} ms a step; ${found.join('; ') || 'nothing found'}`);
  }
}

await exitOnError(main);
