import { existsSync } from 'node:fs';
import { runJob, runProcess } from './run-process.mjs';
import { benchDir, rootDir } from './workloads.mjs';

/** The command `acc`, run with this process's Node.js. */
export const launcher = `${rootDir}packages/cli/dist/acc.js`;

/** @throws Error if the packages are not built. Our side runs the same files that users install. */
export function requireBuild() {
  if (!existsSync(launcher)) throw new Error(`${launcher} is missing: build the packages (npm run build)`);
}

/**
 * The two sides of the comparison. Each runs a job on a number of ranks in new processes, and
 * returns its result.
 */
export const sides = {
  ours: (job, { ranks }) => runOurs('ours.ts', job, ranks),
  theirs: (job, { ranks, python }) => runTheirs('train.py', job, { ranks, python }),
};

/** Profiles the step on one rank, on both sides. */
export const profilers = {
  ours: (job) => runOurs('profiling/ours.ts', job, 1),
  theirs: (job, { python }) => runTheirs('profile_train.py', job, { ranks: 1, python }),
};

/** Measures the memory of the step, on both sides. */
export const memoryProbes = {
  ours: (job) => runOurs('memory/ours.ts', job, 1),
  theirs: (job, { python, env }) => runTheirs('memory_train.py', job, { ranks: 1, python, env }),
};

/** Times steps with and without compilation, and on our side their memory, on one rank. */
export const compileSides = {
  ours: (job) => runOurs('compile/ours.ts', job, 1),
  theirs: (job, { python, env }) => runTheirs('train.py', job, { ranks: 1, python, env }),
};

/** Counts the FLOPs of a step's products, and times a large product. */
export const findProductFloor = (job, { python }) => runTheirs('product_floor.py', job, { ranks: 1, python });

/** Times and measures the step of one strategy, on both sides. */
export const shardingSides = {
  ours: (job, { ranks }) => runOurs('sharding/ours.ts', job, ranks),
  theirs: (job, { ranks, python }) => runTheirs('sharding_train.py', job, { ranks, python }),
};

/** Times pipelined steps, on both sides. */
export const pipelineSides = {
  ours: (job, { ranks }) => runOurs('pipeline/ours.ts', job, ranks),
  theirs: (job, { ranks, python }) => runTheirs('pipeline_train.py', job, { ranks, python }),
};

/** Times steps that ranks compute together, on both sides. */
export const tensorSides = {
  ours: (job, { ranks }) => runOurs('tensor/ours.ts', job, ranks),
  theirs: (job, { ranks, python }) => runTheirs('tensor_train.py', job, { ranks, python }),
};

/** Measures what a rank holds in training by one strategy. */
export const measureSharded = (job, { ranks }) => runOurs('sharding/memory.ts', job, ranks);

/** Trains a model to the end and returns its losses. */
export const trainOurs = (job) => runOurs('convergence/ours.ts', job, 1);

/** Times our steps with and without `deterministic`. */
export const timeDeterministic = (job, { ranks }) => runOurs('deterministic/ours.ts', job, ranks);

/** Trains with parameters and optimizer state in files or in memory. */
export const trainOffloaded = (job, { ranks }) => runOurs('offload/ours.ts', job, ranks);

/** Trains with optimizer state in some bits. */
export const trainSmallState = (job) => runAlone('small-state/train.ts', { ...job, threads: 1 });

/** Measures a network in each format of its weights. */
export const measurePrecision = (job) => runAlone('precision/ours.ts', { ...job, threads: 1 });

/** Measures the perplexity of a pretrained model in each format of 8 bits. */
export const measurePerplexity = (job) => runAlone('precision/perplexity.ts', { ...job, threads: 1 });

/** Times products with packed weights. */
export const timeRows = (job) => runAlone('precision/rows.ts', { ...job, threads: 1 });

/** Trains on a sequence that ranks have in pieces. */
export const trainInPieces = (job, { ranks }) => runOurs('context/ours.ts', job, ranks);

/** Reads epochs of data, on both sides. `peer` has the Python and its variables. */
export const dataSides = {
  ours: (job) => runAlone('data/ours.ts', { ...job, threads: 1 }),
  theirs: loadTheirs,
};

/** Decodes images, on both sides. */
export const decodeSides = {
  ours: (job) => runAlone('data/decode.ts', { ...job, threads: 1 }),
  theirs: loadTheirs,
};

function loadTheirs(job, { python, env }) {
  return runJob(job, (jobPath) =>
    runProcess(python, [`${benchDir}peers/data_load.py`, jobPath], {
      ...environment({ threads: 1 }),
      ...env,
    }),
  );
}

/** Trains with the monitor's figures. */
export const trainWaiting = (job) => runOurs('data/waiting.ts', job, 1);

/** Trains on tfjs-node's backend, without and with the Accelerator. */
export const tfjsNodeSides = {
  alone: (job) => runAlone('tfjs-node/train.ts', { ...job, isAlone: true }),
  ours: (job) => runOurs('tfjs-node/train.ts', job, 1),
};

/** A plain program, which the launcher does not start. */
function runAlone(script, job) {
  requireBuild();
  return runJob(job, (jobPath) =>
    runProcess(process.execPath, ['--import', 'tsx', `${benchDir}${script}`, jobPath], environment(job)),
  );
}

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

/**
 * One rank runs as a plain script, as a PyTorch user would run it. Its model is then not wrapped
 * for data parallelism.
 */
function runTheirs(script, job, { ranks, python, env }) {
  const torchrun = ['-m', 'torch.distributed.run', '--standalone', `--nproc-per-node=${ranks}`];
  return runJob(job, (jobPath) =>
    runProcess(python, [...(ranks > 1 ? torchrun : []), `${benchDir}peers/${script}`, jobPath], {
      ...environment(job),
      ...(job.device === 'cpu' && { ACCELERATE_USE_CPU: 'true' }),
      ...env,
    }),
  );
}

/** TensorFlow has a variable of its own. */
const environment = ({ threads, tfjsNode }) => ({
  OMP_NUM_THREADS: `${threads}`,
  ...(tfjsNode && { TF_NUM_INTRAOP_THREADS: `${threads}`, TF_CPP_MIN_LOG_LEVEL: '2' }),
});
