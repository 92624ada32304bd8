import { sides } from './sides.mjs';
import { parameterCountOf, workloads } from './workloads.mjs';

/** The number of different batches that each rank uses in turn. */
const BATCHES = 8;
const SEED = 7;

/**
 * The job for one run of a model, for either side.
 *
 * @param steps The number of steps in each block. Default: that of the workload.
 */
export function jobOf(model, { threads, device, precision, blocks, steps, compile = false }) {
  const { sizes, batch, learningRate, warmupSteps, steps: usualSteps } = workloads[model];
  return {
    ...{ model, sizes, batch, learningRate, warmupSteps, threads, device, precision, blocks },
    steps: steps ?? usualSteps,
    batches: BATCHES,
    seed: SEED,
    compile,
  };
}

/**
 * Runs one model with one number of ranks and threads. Both sides run `repeats` times and take
 * turns to be first, so a machine that becomes slower or faster affects both.
 *
 * @returns For each measured side, its results in the order of the repeats.
 * @throws Error if a run fails, or trained something else than requested.
 */
export async function measure({ model, ranks, threads }, options) {
  const job = jobOf(model, { ...options, threads });
  const results = Object.fromEntries(options.sides.map((side) => [side, []]));
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    for (const side of repeat % 2 ? options.sides.toReversed() : options.sides) {
      const sideJob = { ...job, parameterCount: parameterCountOf(model, side) };
      const result = await sides[side](sideJob, { ranks, python: options.python });
      checkResult(`${model}, ${side}`, result, sideJob, ranks);
      results[side].push(result);
    }
  }
  return { model, ranks, threads, steps: job.steps, results };
}

/**
 * Checks that the sides are comparable: the requested ranks, device, parameters and threads, and a
 * loss that is a number.
 *
 * @throws Error that names the difference.
 */
export function checkResult(what, result, job, ranks) {
  const expect = (name, isRight) => {
    if (!isRight) throw new Error(`${what}: unexpected ${name} in ${JSON.stringify(result)}`);
  };
  expect('number of ranks', result.ranks === ranks);
  expect('device', result.device.split(':')[0] === job.device);
  expect('number of parameters', result.parameterCount === job.parameterCount);
  expect('number of threads', result.threads === job.threads);
  expect('number of blocks', result.blockMs.length === job.blocks);
  expect('loss', Number.isFinite(result.firstLoss) && Number.isFinite(result.lastLoss));
}
