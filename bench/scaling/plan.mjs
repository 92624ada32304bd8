import { workloads } from '../harness/workloads.mjs';

/**
 * V8 compiles the code of a step on its own threads. If every core trains, they compete for cores.
 * Then one rank, which has a spare core, would look better until compilation ends: some thousand
 * steps of mlp, hundreds of convnet. Any real training is longer. Over a cable, where waiting hides
 * the compilation, it would take minutes. Blocks last for seconds, because machines vary within
 * seconds. PyTorch's operators become slow on mlp after 700 steps (README.md gives the reason).
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

/** The steps of a block, and of the warm-up, on one side. */
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
 * The cases of a model: one rank, and for each number of ranks a case without communication and one
 * for each network.
 *
 * @returns `{ranks, network, batches}`. network is undefined without communication. `batches` has
 * the number of samples in a step on each rank, for `weak`, and for `strong` if every rank gets at
 * least one sample.
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
