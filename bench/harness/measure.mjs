import { sides } from './sides.mjs';
import { parameterCountOf, workloads } from './workloads.mjs';

/** Different batches that each rank goes through. */
const BATCHES = 8;
const SEED = 7;

/**
 * What one run of a model is told, on either side.
 *
 * @param steps In each block; undefined: as many as the workload says.
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
 * Runs one model on one number of ranks and threads: `repeats` times both sides, each of them first by turns, so
 * that a machine which becomes slower or faster meanwhile is so for both.
 *
 * @returns For each side measured, its results in the order of the repeats.
 * @throws Error when a run fails, or trained something else than asked for.
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
 * A comparison holds only between equals: same ranks, same device, parameters and threads as asked, a number for a loss.
 *
 * @throws Error that names what differs.
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
