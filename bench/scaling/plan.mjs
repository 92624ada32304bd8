import { workloads } from '../harness/workloads.mjs';

/**
 * V8 compiles what a step runs on threads of its own. Where every core trains they take its time, so that one rank, which has a
 * core to spare, would look better for as long as that goes on: some thousand steps of mlp, hundreds of convnet, which training
 * of any length has behind it. On a cable, where waiting hides it, that would take minutes. Blocks last for seconds, since
 * machines waver by the second. PyTorch's operators become slow on mlp after 700 steps (README.md says why).
 */
const STEPS = {
  mlp: {
    ours: { warmupSteps: 10_000, warmupStepsOnCable: 800, steps: 4000, stepsOnCable: 500 },
    theirs: { warmupSteps: 150, steps: 70 },
  },
  convnet: {
    ours: { warmupSteps: 800, warmupStepsOnCable: 20, steps: 60, stepsOnCable: 20 },
    theirs: { steps: 60, stepsOnCable: 20 },
  },
  gpt: {
    ours: { warmupSteps: 80, warmupStepsOnCable: 4, steps: 8, stepsOnCable: 3 },
    theirs: { warmupSteps: 4, steps: 8, stepsOnCable: 3 },
  },
};

/** Steps of a block, and before the first, on one side. */
export function stepsOf(model, side, { given, isOnCable } = {}) {
  const of = { ...workloads[model], ...STEPS[model]?.[side] };
  const warmupSteps = (isOnCable && of.warmupStepsOnCable) || of.warmupSteps;
  return { warmupSteps, steps: given ?? ((isOnCable && of.stepsOnCable) || of.steps) };
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
