import { sides } from './sides.mjs';
import { workloads } from './workloads.mjs';

/** Different batches that each rank goes through. */
const BATCHES = 8;
const SEED = 7;

/**
 * Runs one model on one number of ranks: `repeats` times each side in turn.
 *
 * @returns For each side measured, its results in the order of the runs.
 * @throws Error when a run fails, or trained something else than asked for.
 */
export async function measure(model, ranks, options) {
  const { sizes, batch, parameterCount, learningRate, warmupSteps, steps } = workloads[model];
  const job = {
    ...{ model, sizes, batch, parameterCount, learningRate, warmupSteps },
    steps: options.steps ?? steps,
    blocks: options.blocks,
    threads: options.threads,
    batches: BATCHES,
    seed: SEED,
  };
  const results = Object.fromEntries(options.sides.map((side) => [side, []]));
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    for (const side of options.sides) {
      const result = await sides[side](job, ranks);
      checkResult(`${model}, ${side}`, result, job, ranks);
      results[side].push(result);
    }
  }
  return { model, ranks, steps: job.steps, results };
}

/** A comparison holds only between equals: same ranks, same parameters, threads as asked, a loss that is a number. */
function checkResult(what, result, job, ranks) {
  const expect = (name, isRight) => {
    if (!isRight) throw new Error(`${what}: unexpected ${name} in ${JSON.stringify(result)}`);
  };
  expect('number of ranks', result.ranks === ranks);
  expect('number of parameters', result.parameterCount === job.parameterCount);
  if (result.threads !== undefined) expect('number of threads', result.threads === job.threads);
  expect('number of blocks', result.blockMs.length === job.blocks);
  expect('loss', Number.isFinite(result.firstLoss) && Number.isFinite(result.lastLoss));
}
