import { existsSync } from 'node:fs';
import { runJob, runProcess } from './run-process.mjs';
import { benchDir, rootDir } from './workloads.mjs';

/** `acc`, to be run with this process's Node.js. */
export const launcher = `${rootDir}packages/cli/dist/acc.js`;

/** @throws Error when the packages are not built: our side runs what users would install. */
export function requireBuild() {
  if (!existsSync(launcher)) throw new Error(`${launcher} is missing: build the packages (npm run build)`);
}

/** The two sides of the comparison: each runs a job on so many ranks, in new processes, and gives its result. */
export const sides = {
  ours: (job, { ranks }) => runOurs('ours.ts', job, ranks),
  theirs: (job, { ranks, python }) => runTheirs('train.py', job, { ranks, python }),
};

/** The same on one rank; what they give tells what the step's time went into. */
export const profilers = {
  ours: (job) => runOurs('profiling/ours.ts', job, 1),
  theirs: (job, { python }) => runTheirs('profile_train.py', job, { ranks: 1, python }),
};

/** The same; what they give tells how much memory the step needs. */
export const memoryProbes = {
  ours: (job) => runOurs('memory/ours.ts', job, 1),
  theirs: (job, { python }) => runTheirs('memory_train.py', job, { ranks: 1, python }),
};

/** Trains a model to the end; what it gives tells how well. */
export const trainOurs = (job) => runOurs('convergence/ours.ts', job, 1);

/** Times our steps with and without `deterministic`. */
export const timeDeterministic = (job, { ranks }) => runOurs('deterministic/ours.ts', job, ranks);

function runOurs(script, job, ranks) {
  requireBuild();
  return runJob(job, (jobPath) =>
    runProcess(
      process.execPath,
      [launcher, 'launch', '-n', `${ranks}`, `${benchDir}${script}`, jobPath],
      environment(job),
    ),
  );
}

/** One rank runs as a plain script, as a PyTorch user would: its model is then not wrapped for data parallelism. */
function runTheirs(script, job, { ranks, python }) {
  const torchrun = ['-m', 'torch.distributed.run', '--standalone', `--nproc-per-node=${ranks}`];
  return runJob(job, (jobPath) =>
    runProcess(python, [...(ranks > 1 ? torchrun : []), `${benchDir}peers/${script}`, jobPath], {
      ...environment(job),
      ...(job.device === 'cpu' && { ACCELERATE_USE_CPU: 'true' }),
    }),
  );
}

const environment = ({ threads }) => ({ OMP_NUM_THREADS: `${threads}` });
