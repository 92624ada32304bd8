import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkResult, jobOf } from '../harness/measure.mjs';
import { runRanks } from '../harness/ranks.mjs';
import { runProcess, runTogether } from '../harness/run-process.mjs';
import { median } from '../harness/statistics.mjs';
import { benchDir, parameterCountOf } from '../harness/workloads.mjs';
import { stepsOf } from './plan.mjs';

/**
 * Runs one case on one side, in new processes.
 *
 * @param one Of `casesOf`.
 * @param link The open network with a host for each rank; undefined: the ranks run on this host.
 * @returns `{rates: {weak, strong}, versions}`; rates are samples/s of all ranks together.
 * @throws Error when a rank fails, or trained something else than asked for.
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
    const [command, ...args] = commandOf(side, python);
    const commands = paths.map((path) => [command, [...args, path]]);
    const env = side === 'theirs' ? { ACCELERATE_USE_CPU: 'true' } : {};
    if (!isTogether) return runAlone(commands, env, signal);
    return runRanks((rank) => commands[rank], { ranks: one.ranks, network: link, env, signal });
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

function commandOf(side, python) {
  if (side === 'theirs') return [python, `${benchDir}peers/scaling_train.py`];
  return [process.execPath, '--import', import.meta.resolve('tsx'), `${benchDir}scaling/ours.ts`];
}

/** Processes that know nothing of each other. */
function runAlone(commands, env, signal) {
  const starts = commands.map((command) => (either) => {
    return runProcess(...command, { ...env, OMP_NUM_THREADS: '1' }, either);
  });
  return runTogether(starts, signal);
}

/** Gives every process a job of its own to read, and reads their results. */
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
