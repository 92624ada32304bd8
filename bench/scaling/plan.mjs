import { workloads } from '../harness/workloads.mjs';

/**
 * Fewer steps than where the times themselves are asked for, since there are many cases. V8 needs some thousand steps of mlp
 * until it has compiled all of them, which training of any length soon has behind it; on a cable they would take minutes.
 * PyTorch's operators become slow on this model after 700 (README.md says why).
 */
const STEPS = {
  mlp: {
    ours: { warmupSteps: 6000, warmupStepsOnCable: 800, steps: 500 },
    theirs: { warmupSteps: 150, steps: 70 },
  },
  convnet: { ours: { warmupSteps: 150, warmupStepsOnCable: 20, steps: 20 } },
  gpt: { ours: { warmupSteps: 20, warmupStepsOnCable: 4, steps: 3 }, theirs: { warmupSteps: 4, steps: 3 } },
};

/** Steps of a block, and before the first, on one side. */
export function stepsOf(model, side, { given, isOnCable } = {}) {
  const of = { ...workloads[model], ...STEPS[model]?.[side] };
  const warmupSteps = (isOnCable && of.warmupStepsOnCable) || of.warmupSteps;
  return { warmupSteps, steps: given ?? of.steps };
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
