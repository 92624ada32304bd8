import { existsSync } from 'node:fs';
import { python } from '../peers/setup.mjs';
import { runJob, runProcess } from './run-process.mjs';
import { benchDir, rootDir } from './workloads.mjs';

const launcher = `${rootDir}packages/cli/dist/acc.js`;

/** The two sides of the comparison: each runs a job on so many ranks, in new processes, and gives its result. */
export const sides = { ours: runOurs, theirs: runTheirs };

function runOurs(job, ranks) {
  if (!existsSync(launcher)) throw new Error(`${launcher} is missing: build the packages (npm run build)`);
  const script = `${benchDir}ours.ts`;
  return runJob(job, (jobPath) =>
    runProcess(process.execPath, [launcher, 'launch', '-n', `${ranks}`, script, jobPath], {
      OMP_NUM_THREADS: `${job.threads}`,
    }),
  );
}

/** One rank runs as a plain script, as a PyTorch user would: its model is then not wrapped for data parallelism. */
function runTheirs(job, ranks) {
  const script = `${benchDir}peers/train.py`;
  const torchrun = ['-m', 'torch.distributed.run', '--standalone', `--nproc-per-node=${ranks}`];
  return runJob(job, (jobPath) =>
    runProcess(python, [...(ranks > 1 ? torchrun : []), script, jobPath], {
      ACCELERATE_USE_CPU: 'true',
      OMP_NUM_THREADS: `${job.threads}`,
    }),
  );
}
