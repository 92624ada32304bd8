/**
 * `npm run bench:collectives`: compares our all-reduce with Open MPI and torch.distributed in one
 * run. See README.md.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInterruptibly } from './harness/interruption.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { collectivesUsage, parseCollectivesOptions } from './harness/options.mjs';
import { runRanks } from './harness/ranks.mjs';
import { runProcess } from './harness/run-process.mjs';
import { requireBuild } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { measureConnection, openNetwork } from './network/network.mjs';
import { parseNetwork } from './network/shapes.mjs';
import { ensurePeer } from './peers/setup.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const KiB = 1024;
const MiB = 1024 * KiB;

/**
 * The largest number of calls over sockets. A call takes a hundred times as long as one over shared
 * memory, and V8 has compiled it after this number.
 */
const MOST_OVER_SOCKETS = 500;

/** The sides, sizes in bytes and repetitions. A run of each side takes some seconds. */
const ONE_HOST = {
  sides: ['ours, shm', 'ours, gloo', 'Open MPI', 'torch gloo'],
  ratios: [
    ['ours, shm', 'Open MPI'],
    ['ours, shm', 'torch gloo'],
    ['ours, gloo', 'torch gloo'],
  ],
  plan: [
    [4 * KiB, 20000],
    [64 * KiB, 5000],
    [MiB, 500],
    [16 * MiB, 15],
    [64 * MiB, 6],
  ],
};
const TWO_HOSTS = {
  sides: ['ours, gloo', 'torch gloo'],
  ratios: [['ours, gloo', 'torch gloo']],
  plan: [
    [4 * KiB, 60],
    [64 * KiB, 60],
    [MiB, 40],
    [4 * MiB, 20],
    [16 * MiB, 12],
    [64 * MiB, 6],
  ],
};
const USUAL_NETWORK = '10gbit/1ms';

await runInterruptibly(async (signal) => {
  const given = parseCollectivesOptions(process.argv.slice(2));
  if (given.help) return console.log(collectivesUsage);
  requireBuild();
  const machine = describeMachine();
  const python = ensurePeer(given.python);
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-'));
  try {
    const mpi = join(folder, 'mpi');
    await runProcess('mpicc', ['-O2', here('collectives/mpi.c'), '-o', mpi]);
    const options = { repeats: given.repeats, python, mpi, signal };
    const ofHosts = await compareHosts(given.network, options);
    const tables = [];
    for (const ranks of given.ranks) {
      tables.push(await compare(`## ${ranks} ranks`, ONE_HOST, { ...options, ranks }));
    }
    writeFileSync(here('results/collectives.md'), formatReport(machine, [...tables, ofHosts]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/**
 * Measures two hosts with one rank each. Returns the reason if network namespaces are not possible
 * and were not requested.
 */
async function compareHosts(asked, options) {
  const shape = parseNetwork(asked ?? USUAL_NETWORK);
  const title = `## 2 hosts, ${shape.title}`;
  let network;
  try {
    network = await openNetwork(shape, 2);
  } catch (error) {
    if (asked) throw error;
    return `${title}\n\nLeft out: ${error.message}`;
  }
  try {
    const { roundTripMs, gbitPerS } = await measureConnection(network, shape, options.signal);
    const found = `a round trip takes ${roundTripMs.toFixed(2)} ms, and one stream gets ${gbitPerS.toFixed(2)} Gbit/s`;
    const head = `${title}\n\nNetwork namespaces: ${found}.`;
    return await compare(head, TWO_HOSTS, { ...options, ranks: 2, network });
  } finally {
    await network.dispose();
  }
}

/** Runs all sides in turn, `repeats` times, each in new processes. Returns a table under `head`. */
async function compare(head, { sides, ratios, plan }, options) {
  const pairsOf = (side) => {
    const most = side.endsWith('gloo') ? MOST_OVER_SOCKETS : Infinity;
    return plan.map(([bytes, repeats]) => `${bytes}:${Math.min(repeats, most)}`);
  };
  const runs = [];
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    const run = {};
    // The order alternates, so that no side always has the warmer machine.
    for (const side of repeat % 2 ? sides.toReversed() : sides) {
      run[side] = await measure(side, pairsOf(side), options);
    }
    runs.push(run);
  }
  const table = formatColumns(
    ['bytes', ...sides, ...ratios.map(([a, b]) => `${a} / ${b}`)],
    plan.map(([bytes]) => row(bytes, runs, sides, ratios)),
  );
  const section = `${head}\n\n${table}`;
  console.log(section);
  return section;
}

function row(bytes, runs, sides, ratios) {
  const time = (run, side) => median(run[side][bytes]);
  return [
    formatBytes(bytes),
    ...sides.map((side) => formatTime(median(runs.map((run) => time(run, side))))),
    ...ratios.map(([a, b]) => median(runs.map((run) => time(run, a) / time(run, b))).toFixed(2)),
  ];
}

/** The seconds of each call, by size in bytes. */
async function measure(side, plan, { ranks, network, python, mpi, signal }) {
  if (side === 'Open MPI') {
    const options = ['--allow-run-as-root', '--oversubscribe', '-n', String(ranks)];
    return JSON.parse(await runProcess('mpirun', [...options, mpi, ...plan], {}, signal));
  }
  const engine = side.slice('ours, '.length);
  const commands = {
    ours: [process.execPath, ['--import', 'tsx', here('collectives/ours.ts'), engine, ...plan]],
    theirs: [python, [here('collectives/torch_gloo.py'), ...plan]],
  };
  const command = commands[side === 'torch gloo' ? 'theirs' : 'ours'];
  const outputs = await runRanks(() => command, { ranks, network, signal });
  return JSON.parse(outputs[0]);
}

function formatBytes(bytes) {
  return bytes < MiB ? `${bytes / KiB} KiB` : `${bytes / MiB} MiB`;
}

function formatTime(seconds) {
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(1)} µs`;
  return `${(seconds * 1e3).toFixed(2)} ms`;
}

function formatReport({ cpu, cores, memoryGiB, system, load, date }, tables) {
  return `# All-reduce

${date}, ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}; load ${load.toFixed(1)} before the run.

Sum of float32 over ranks with one thread each. Ours is called on tfjs tensors from JavaScript, Open MPI from C, and
torch.distributed from Python. A barrier precedes each call. Over sockets both sides sum in place. In shared memory and in MPI
the sum is a new tensor. Times are medians. A ratio is the median of the ratios of the rounds. It is below 1 if the first is
faster. Repeat with \`npm run bench:collectives\`.

${tables.join('\n\n')}
`;
}
