// The lab: trains one model alone, data parallel and sharded, on 1 to N processes, and writes a
// report with plots.
//   npm run lab -- --processes 4
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { launch } from '@acc/cli';
import { readNumbers } from '../arguments.js';
import { drawLines, type Chart } from './charts.js';
import { reportOf, type Run } from './report.js';
import type { Measured, Task } from './train.js';

const {
  processes,
  epochs,
  rows,
  width,
  'batch-size': batchSize,
} = readNumbers({
  processes: availableParallelism(),
  epochs: 1,
  rows: 7680,
  width: 1024,
  'batch-size': 256,
});
const FOLDER = 'lab-report';

const counts = [...new Set([...powersOfTwo(processes), processes])];
const runs: Run[] = [];
runs.push(await run('single', 1));
for (const strategy of ['ddp', 'fsdp'] as const) {
  for (const count of counts.filter((one) => one > 1)) runs.push(await run(strategy, count));
}

mkdirSync(FOLDER, { recursive: true });
const { text, charts } = reportOf(runs, { epochs, rows, width, batchSize });
for (const [name, chart] of Object.entries<Chart>(charts)) {
  writeFileSync(`${FOLDER}/${name}.svg`, await drawLines(chart));
}
writeFileSync(`${FOLDER}/report.md`, text);
console.log(`${text}\n${FOLDER}/report.md has the plots.`);

/** Trains once. Each process computes on one thread, so that processes are what is compared. */
async function run(strategy: Task['strategy'], count: number): Promise<Run> {
  console.log(`${strategy} on ${count} process(es) …`);
  const task: Task = { strategy, epochs, rows, batchSize, width };
  const ranks = (await launch(
    { module: new URL('train.ts', import.meta.url), export: 'train' },
    { numProcesses: count, threads: 1, args: [task] },
  )) as Measured[];
  return { strategy, count, ranks };
}

function powersOfTwo(limit: number): number[] {
  return Array.from({ length: Math.floor(Math.log2(limit)) + 1 }, (_, i) => 2 ** i);
}
