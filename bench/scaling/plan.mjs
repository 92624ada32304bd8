import { workloads } from '../harness/workloads.mjs';

/**
 * Fewer steps than where the times themselves are asked for, since there are many cases. V8 needs some hundred steps of mlp
 * until it has compiled them; PyTorch's operators become slow on this model after 700 (README.md says why).
 */
const STEPS = {
  mlp: { warmupSteps: { ours: 800, theirs: 150 }, steps: 70 },
  gpt: { warmupSteps: { ours: 4, theirs: 4 }, steps: 3 },
};

/** Steps of a block, and before the first on each side. */
export function stepsOf(model, given) {
  const { warmupSteps: both, steps: usual } = workloads[model];
  const { warmupSteps, steps } = STEPS[model] ?? { warmupSteps: { ours: both, theirs: both }, steps: usual };
  return { warmupSteps, steps: given ?? steps };
}

/** 1, 2, 4, … and the number of cores. */
export function defaultRanks(cores) {
  const doubled = Array.from({ length: 32 }, (_, i) => 2 ** i).filter((count) => count < cores);
  return [...doubled, cores];
}

/**
 * What is measured of a model: one rank; and for each number of ranks, them without communication, and on each network.
 *
 * @returns `{ranks, network, batches}`: network is undefined where nothing is communicated; `batches` are samples of a step
 *   on each rank by what is asked, `weak` and, where every rank gets at least one sample, `strong`.
 */
export function casesOf(model, { ranks, networks }) {
  const { batch } = workloads[model];
  return ranks.flatMap((count) => {
    if (count === 1) return [{ ranks: 1, network: undefined, batches: { weak: batch } }];
    const share = Math.floor(batch / count);
    const batches = { weak: batch, ...(share > 0 && { strong: share }) };
    return [undefined, ...networks].map((network) => ({ ranks: count, network, batches }));
  });
}
