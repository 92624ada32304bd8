import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkResult, jobOf } from '../harness/measure.mjs';
import { freshPort, runRanks } from '../harness/ranks.mjs';
import { runProcess, runTogether } from '../harness/run-process.mjs';
import { launcher } from '../harness/sides.mjs';
import { median } from '../harness/statistics.mjs';
import { benchDir, parameterCountOf } from '../harness/workloads.mjs';
import { commandOn, INTERFACE } from '../network/network.mjs';
import { stepsOf } from './plan.mjs';

/**
 * Runs one case on one side, in new processes.
 *
 * @param one A case of `casesOf`.
 * @param link The open network with a host for each rank. Undefined: the ranks run on this host.
 * @returns `{rates: {weak, strong}, versions}`. Rates are samples/s of all ranks together.
 * @throws Error if a rank fails, or trained something else than requested.
 */
export async function measureCase({ model, side, one, link }, { blocks, steps, python, signal }) {
  const isTogether = one.network !== undefined;
  const { warmupSteps, steps: stepsOfBlock } = stepsOf(model, side, {
    given: steps,
    isOnCable: Boolean(link),
  });
  const job = {
    ...jobOf(model, { threads: 1, device: 'cpu', precision: 'fp32', blocks, steps: stepsOfBlock }),
    warmupSteps,
    batchSizes: Object.values(one.batches),
    parameterCount: parameterCountOf(model, side),
  };
  const results = await withJobs(job, one.ranks, isTogether, (paths) => {
    if (side === 'ours') return runOurs(paths, { isTogether, link, signal });
    return runTheirs(paths, { isTogether, link, signal, python });
  });
  for (const result of results) {
    const sizes = result.blockMs.map((ofSize) => ({ ...result, blockMs: ofSize }));
    for (const size of sizes) checkResult(`${model}, ${side}`, size, job, isTogether ? one.ranks : 1);
  }
  const rates = Object.entries(one.batches).map(([kind, batch], i) => {
    return [kind, rateOf(results, i, batch * job.steps)];
  });
  return { rates: Object.fromEntries(rates), versions: results[0].versions };
}

/** Samples/s of all ranks together, in the median block. */
function rateOf(results, i, samples) {
  const perBlock = results[0].blockMs[i].map((_, block) =>
    results.reduce((sum, { blockMs }) => sum + (1e3 * samples) / blockMs[i][block], 0),
  );
  return median(perBlock);
}

/**
 * Runs with `acc launch`: one job of all ranks, on this host or with a launcher on each host; or
 * one job for each rank.
 */
function runOurs(paths, { isTogether, link, signal }) {
  const script = `${benchDir}scaling/ours.ts`;
  const launch = (options, path) => [
    process.execPath,
    [launcher, 'launch', '--threads', '1', ...options, script, path],
  ];
  if (!isTogether) {
    const commands = paths.map((path) => launch([], path));
    return runAtOnce(commands, signal);
  }
  if (!link) {
    const path = paths[0].replace('-0.json', '-{rank}.json');
    return runAtOnce([launch(['-n', `${paths.length}`], path)], signal);
  }
  const endpoint = `${link.hosts[0].address}:${freshPort()}`;
  const env = { ACC_JOB_TOKEN: randomBytes(16).toString('hex') };
  const commands = paths.map((path, host) => {
    const place = ['--nnodes', `${paths.length}`, '--node-rank', `${host}`, '--rdzv-endpoint', endpoint];
    return commandOn(link.hosts[host], ...launch([...place, '--interface', INTERFACE], path));
  });
  return runAtOnce(commands, signal, env);
}

function runTheirs(paths, { isTogether, link, signal, python }) {
  const commands = paths.map((path) => [python, [`${benchDir}peers/scaling_train.py`, path]]);
  const env = { ACCELERATE_USE_CPU: 'true' };
  if (!isTogether) return runAtOnce(commands, signal, { ...env, OMP_NUM_THREADS: '1' });
  return runRanks((rank) => commands[rank], { ranks: paths.length, network: link, env, signal });
}

/** Runs each of the commands in its own process. */
function runAtOnce(commands, signal, env = {}) {
  return runTogether(
    commands.map((command) => (either) => runProcess(...command, env, either)),
    signal,
  );
}

/** Writes a job file for each process, and reads their results. */
async function withJobs(job, count, isTogether, run) {
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-'));
  try {
    const resultPaths = Array.from({ length: count }, (_, index) => join(folder, `result-${index}.json`));
    const jobPaths = resultPaths.map((resultPath, index) => {
      const path = join(folder, `job-${index}.json`);
      const meeting = isTogether ? {} : { meeting: { folder, index, count } };
      writeFileSync(path, JSON.stringify({ ...job, ...meeting, resultPath }));
      return path;
    });
    await run(jobPaths);
    return resultPaths.map((path) => JSON.parse(readFileSync(path, 'utf8')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
