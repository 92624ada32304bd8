/** `npm run bench:collectives`: all-reduce of ours beside Open MPI and torch.distributed, in one run. See README.md. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { runProcess } from './harness/run-process.mjs';
import { median } from './harness/statistics.mjs';
import { ensurePeer } from './peers/setup.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const KiB = 1024;

/** Bytes and how often: a run of each side takes about a second. */
const PLAN = [
  [4 * KiB, 20000],
  [64 * KiB, 5000],
  [1024 * KiB, 500],
  [16 * 1024 * KiB, 15],
  [64 * 1024 * KiB, 6],
];
const SIDES = ['ours, shm', 'ours, gloo', 'Open MPI', 'torch gloo'];

await exitOnError(async () => {
  const { values } = parseArgs({
    options: {
      ranks: { type: 'string', default: '2,4' },
      repeats: { type: 'string', default: '3' },
      python: { type: 'string' },
    },
  });
  const machine = describeMachine();
  const python = ensurePeer(values.python);
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-'));
  try {
    const mpi = join(folder, 'mpi');
    await runProcess('mpicc', ['-O2', here('collectives/mpi.c'), '-o', mpi]);
    const tables = [];
    for (const ranks of values.ranks.split(',').map(Number)) {
      tables.push(`## ${ranks} ranks\n\n${await compare(ranks, Number(values.repeats), python, mpi)}`);
      console.log(tables.at(-1));
    }
    writeFileSync(here('results/collectives.md'), formatReport(machine, tables));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** All sides in turn, `repeats` times, each in new processes. */
async function compare(ranks, repeats, python, mpi) {
  const plan = PLAN.map((pair) => pair.join(':'));
  const runs = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const run = {};
    // Forwards and backwards in turn, so that no side always has the warmer machine.
    for (const side of repeat % 2 ? [...SIDES].reverse() : SIDES) {
      run[side] = await measure(side, ranks, plan, python, mpi);
    }
    runs.push(run);
  }
  return formatColumns(
    ['bytes', ...SIDES, 'shm / Open MPI', 'shm / torch gloo', 'gloo / torch gloo'],
    PLAN.map(([bytes]) => row(bytes, runs)),
  );
}

function row(bytes, runs) {
  const time = (run, side) => median(run[side][bytes]);
  const ratio = (a, b) => median(runs.map((run) => time(run, a) / time(run, b))).toFixed(2);
  return [
    formatBytes(bytes),
    ...SIDES.map((side) => formatTime(median(runs.map((run) => time(run, side))))),
    ratio('ours, shm', 'Open MPI'),
    ratio('ours, shm', 'torch gloo'),
    ratio('ours, gloo', 'torch gloo'),
  ];
}

async function measure(side, ranks, plan, python, mpi) {
  if (side === 'Open MPI') {
    const options = ['--allow-run-as-root', '--oversubscribe', '-n', String(ranks)];
    return JSON.parse(await runProcess('mpirun', [...options, mpi, ...plan]));
  }
  const port = await freePort();
  const token = randomBytes(16).toString('hex');
  const outputs = await Promise.all(
    Array.from({ length: ranks }, (_, rank) => {
      const env = {
        RANK: String(rank),
        LOCAL_RANK: String(rank),
        WORLD_SIZE: String(ranks),
        LOCAL_WORLD_SIZE: String(ranks),
        MASTER_ADDR: '127.0.0.1',
        MASTER_PORT: String(port),
        ACC_JOB_TOKEN: token,
        OMP_NUM_THREADS: '1',
      };
      const engine = side.slice('ours, '.length);
      return side === 'torch gloo'
        ? runProcess(python, [here('collectives/torch_gloo.py'), ...plan], env)
        : runProcess(
            process.execPath,
            ['--import', 'tsx', here('collectives/ours.ts'), engine, ...plan],
            env,
          );
    }),
  );
  return JSON.parse(outputs[0]);
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

function formatBytes(bytes) {
  return bytes < 1024 * KiB ? `${bytes / KiB} KiB` : `${bytes / KiB / 1024} MiB`;
}

function formatTime(seconds) {
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(1)} µs`;
  return `${(seconds * 1e3).toFixed(2)} ms`;
}

function formatReport({ cpu, cores, memoryGiB, system, load, date }, tables) {
  return `# All-reduce

${date}, ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}; load ${load.toFixed(1)} before the run.

Sum of float32 over ranks of one host, each of one thread. Ours is called on tfjs tensors from JavaScript, Open MPI from C,
torch.distributed from Python; each call comes after a barrier. Times are medians; a ratio is the median of those of the
single rounds, below 1 where the first is faster. Repeat with \`npm run bench:collectives\`.

${tables.join('\n\n')}
`;
}
