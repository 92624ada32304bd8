import { jobOf } from '../harness/measure.mjs';
import { compileSides, findProductFloor, memoryProbes } from '../harness/sides.mjs';
import { parameterCountOf, workloads } from '../harness/workloads.mjs';

/**
 * Warm-up steps of both sides. Ours takes a block more, and the recorded steps. In the first steps V8
 * compiles on other threads, for which two threads of the engine leave no core.
 */
const WARMUP_STEPS = { 'gpt-plain': 5, mlp: 300 };
const USUAL_WARMUP_STEPS = 20;

/** The ways to run a model, by name. PyTorch's eager mode comes first, since ratios refer to it. */
const WAYS = {
  'PyTorch eager': { side: 'theirs' },
  'torch.compile': { side: 'theirs', torchCompile: true },
  eager: { side: 'ours' },
  compiled: { side: 'ours', fuse: 'plain' },
  "compiled, fuse: 'exact'": { side: 'ours', fuse: 'exact' },
  'compiled, fuse: true': { side: 'ours', fuse: true },
};

const GPT_WAYS = {
  'fused by hand': { side: 'ours', isByHand: true },
  'fused by hand, compiled, fuse: true': { side: 'ours', isByHand: true, fuse: true },
};

export const BASELINES = ['PyTorch eager', 'torch.compile'];

/** The ways to run a model, in the order of the report. */
export const waysOf = (model) => (model === 'gpt-plain' ? { ...WAYS, ...GPT_WAYS } : WAYS);

/** Runs one case by one way, in a new process. */
export async function runWay({ model, precision, threads }, way, { blocks, steps, python, cache }) {
  const job = jobOfWay({ model, precision, threads, blocks, steps }, way);
  return { steps: job.steps, ...(await compileSides[way.side](job, { python, env: cacheIn(cache) })) };
}

/** Where torch.compile keeps what it has compiled. */
const cacheIn = (cache) => ({ TORCHINDUCTOR_CACHE_DIR: cache });

/** The peak of tensors' memory in PyTorch's steps. Ours is measured with the times. */
export async function peakOfTheirs({ model, precision, threads }, way, { python, cache }) {
  const job = jobOfWay({ model, precision, threads, blocks: 1, steps: 2 }, way);
  const { peakBytes } = await memoryProbes.theirs(
    { ...job, warmupSteps: 2 },
    { python, env: cacheIn(cache) },
  );
  return peakBytes;
}

/** How long the products of a step would take at the rate of a large product. */
export function floorOfProducts({ model, precision, threads }, { python }) {
  return findProductFloor(jobOf(model, { device: 'cpu', precision, threads, blocks: 1 }), { python });
}

function jobOfWay({ model, ...rest }, { side, isByHand, ...way }) {
  const job = jobOf(model, { device: 'cpu', ...rest });
  return {
    ...job,
    ...way,
    parameterCount: parameterCountOf(model, side),
    warmupSteps: WARMUP_STEPS[model] ?? USUAL_WARMUP_STEPS,
    ...(isByHand && { model: 'gpt', sizes: { ...workloads[model].sizes, plainOps: false, tanhGelu: true } }),
  };
}
