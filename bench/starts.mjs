/**
 * `node bench/starts.mjs`: measures how long two ranks of a TypeScript program take to the end of their
 * first step, beside two processes that only load tfjs and libtorch. See README.md.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { findLibtorch } from '@acc/native';
import tfjs from '@tensorflow/tfjs';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { benchDir } from './harness/workloads.mjs';

const USAGE = `npm run bench:starts -- [options]

  --repeats N   starts of each kind (default 7)
  --name N      of the page in bench/results (default starts)`;

const run = promisify(execFile);
const launcher = join(benchDir, '..', 'packages', 'core', 'bin', 'acc.js');
const launch = ['launch', '-n', '2', '--no-prefix', join(benchDir, 'starts', 'program.ts')];

/** The kinds of starts. Each returns what its two processes print. */
const KINDS = {
  'two ranks': ranks,
  'two bare processes': bare,
};

await exitOnError(async () => {
  const { values } = parseArgs({
    options: {
      repeats: { type: 'string', default: '7' },
      name: { type: 'string', default: 'starts' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(USAGE);
  const repeats = Number(values.repeats);
  if (!Number.isInteger(repeats) || repeats < 1) throw new Error(`--repeats is ${values.repeats}. ${USAGE}`);
  const machine = describeMachine();
  process.env.ACC_LIBTORCH ??= findLibtorch().root;
  const samples = await measure(repeats);
  const head = formatHead({
    name: values.name,
    machine,
    versions: { 'Node.js': process.versions.node, tfjs: tfjs.version_core },
    options: { device: 'cpu' },
  });
  const page = `${head}\n\n${format(samples)}\n\nRepeat it: \`npm run bench:starts\`\n`;
  console.log(`${page}\n${writeResult(`${values.name}.md`, page)}`);
});

/** All kinds in turn, so that a machine that becomes slower does not favour one. */
async function measure(repeats) {
  const samples = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, []]));
  // The first start transpiles the program.
  await ranks();
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const [kind, start] of Object.entries(KINDS)) {
      const startedAt = Date.now();
      const reached = await start();
      samples[kind].push({
        wallMs: Math.max(...reached.map(({ reachedAt }) => reachedAt)) - startedAt,
        processorMs: reached.reduce((sum, each) => sum + each.processorMs, 0) / reached.length,
      });
    }
  }
  return samples;
}

async function ranks() {
  return linesOf(await run(process.execPath, [launcher, ...launch]));
}

async function bare() {
  const start = () => run(process.execPath, [join(benchDir, 'starts', 'bare.mjs')]);
  const both = await Promise.all([start(), start()]);
  return both.flatMap(linesOf);
}

function linesOf({ stdout }) {
  const found = stdout.split('\n').filter((line) => line.startsWith('{'));
  return found.map((line) => JSON.parse(line));
}

function format(samples) {
  const seconds = (values) => {
    const sorted = values.toSorted((a, b) => a - b).map((ms) => (ms / 1000).toFixed(2));
    return `${sorted[sorted.length >> 1]} (${sorted[0]}–${sorted.at(-1)})`;
  };
  const rows = Object.entries(samples).map(([kind, all]) => [
    kind,
    seconds(all.map(({ wallMs }) => wallMs)),
    seconds(all.map(({ processorMs }) => processorMs)),
  ]);
  return formatColumns(['start', 's until both are there', 'processor s of a process'], rows);
}
