import { describe, expect, it } from 'vitest';
import type { ClusterOptions, PlanOptions } from '../options.js';
import { predict } from '../predict.js';
import type { FullPlan } from './full-plan.js';
import { findPlans } from './search.js';
import { divisorsOf } from './space.js';
import type { PlanConstraints, SearchOptions } from './options.js';

const GPT = { vocabulary: 51_200, sequence: 2048 };
const SMALL = { layers: 8, hidden: 1024, heads: 8, ...GPT };
const ON_8 = { model: SMALL, cluster: { preset: 'a100-sxm', devices: 8 }, globalBatch: 64 };

const MEASURED = {
  ...{ measured: { name: 'a host', flopsPerSecond: { float32: 1e11, bf16: 9e10 } }, devices: 2 },
  ...{ devicesPerHost: 2, memoryBytes: 16e9, memoryBytesPerSecond: 1e10, hostMemoryBytes: 32e9 },
  ...{ linkBytesPerSecond: 1e8, linkLatencySeconds: 6e-6 },
};
/** With one micro-batch plans fit, and with two of the same batch none does. */
const TIGHT = { preset: 'a100-sxm', devices: 1, memoryBytes: 4.8e9 };
const DEEP = { ...SMALL, layers: 24, sequence: 128 };
const SLOW = { preset: 'h100-sxm', devices: 4, devicesPerHost: 1, networkBytesPerSecond: 2e8 };

const errorOf = (options: SearchOptions): Error => {
  try {
    findPlans(options);
  } catch (error) {
    return error as Error;
  }
  throw new Error('Plans were found.');
};

describe('plans', () => {
  // As in figure 13 of the Megatron-LM paper, for 64 devices.
  const large = { layers: 32, hidden: 20_480, heads: 128, ...GPT };
  const onA100 = { model: large, cluster: { preset: 'a100-sxm', devices: 64 }, globalBatch: 128 };
  const megatron: PlanConstraints = {
    ...{ flashAttention: false, sequenceParallel: false, recompute: 'full', schedule: '1f1b' },
    ...{ microBatch: 1, stage: 0, mesh: { data: 1, context: 1, fsdp: 1 } },
  };

  it('are what predict says, the fastest first', () => {
    const { plans, counts } = findPlans(ON_8);
    expect(plans).toHaveLength(6);
    for (const { plan, stepSeconds, memoryBytes } of plans) {
      const prediction = predict({ ...ON_8, plan });
      expect([stepSeconds, memoryBytes]).toEqual([prediction.stepSeconds, prediction.memoryBytes]);
    }
    const times = plans.map(({ stepSeconds }) => stepSeconds);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(counts.considered).toBe(counts.tooLarge + counts.tooSlow + counts.simulated);
    expect(counts.tooSlow).toBeGreaterThan(counts.simulated);
  });

  it.each<[string, ClusterOptions, Partial<SearchOptions>]>([
    ['on V100', { preset: 'v100-sxm', devices: 4 }, {}],
    [
      'with offload in little memory',
      TIGHT,
      { model: DEEP, globalBatch: 2, constraints: { offload: { optimizer: true } } },
    ],
    ['on a slow network beside computation', SLOW, {}],
    ['on a host that was measured', MEASURED, {}],
  ])('are the fastest of all, also of those that the bounds leave out: %s', (_, cluster, more) => {
    const options = { model: { ...SMALL, layers: 4 }, globalBatch: 8, ...more, cluster };
    const { plans } = findPlans({ ...options, memoryFraction: 1 });
    const all = everyPlan(cluster.devices, options.globalBatch).flatMap((plan) => {
      try {
        const { stepSeconds, fits } = predict({
          ...options,
          plan: { ...plan, ...more.constraints, mesh: plan.mesh },
        });
        return fits ? [stepSeconds] : [];
      } catch {
        // Numbers that do not fit each other.
        return [];
      }
    });
    expect(all.length).toBeGreaterThan(0);
    expect(plans[0]!.stepSeconds).toBe(Math.min(...all));
  });

  it('with offload fit with one micro-batch, where gradients leave memory, though smaller ones do not', () => {
    const constraints = { offload: { optimizer: true }, checkpointEvery: 1 };
    const { plans } = findPlans({ model: DEEP, cluster: TIGHT, globalBatch: 2, constraints });
    expect(plans[0]!.plan.microBatch).toBe(2);
  });

  it('are accepted as constraints, with and without a pipeline', () => {
    for (const mesh of [{ pipeline: 1 }, { pipeline: 2 }]) {
      const [first] = findPlans({ ...ON_8, constraints: { mesh } }).plans;
      const { globalBatch: _, sequence: __, ...constraints } = first!.plan;
      expect(findPlans({ ...ON_8, constraints }).plans.map(({ plan }) => plan)).toEqual([first!.plan]);
    }
  });

  it('have tensor 8 × pipeline 8 as the fastest mesh of figure 13, before 4 × 16 and 16 × 4', () => {
    const { plans } = findPlans({ ...onA100, constraints: megatron, memoryFraction: 1 });
    expect(plans[0]!.plan.mesh).toMatchObject({ tensor: 8, pipeline: 8 });
    const [best, ...others] = [8, 2, 4, 16, 32].map((pipeline) => {
      const mesh = { pipeline, tensor: 64 / pipeline };
      return predict({ ...onA100, plan: { mesh, globalBatch: 128, microBatch: 1, recompute: 'full' } });
    });
    for (const { stepSeconds } of others) expect(plans[0]!.stepSeconds).toBeLessThan(stepSeconds);
    expect(plans[0]!.stepSeconds).toBe(best!.stepSeconds);
  });

  it('have the fewest stages of figure 14, and no tensor, which figure 15 shows to be slower', () => {
    const { plans } = findPlans({
      model: { layers: 32, hidden: 3840, heads: 32, ...GPT },
      cluster: { ...onA100.cluster, memoryBytes: 1e12 },
      globalBatch: 512,
      constraints: { ...megatron, mesh: { context: 1, fsdp: 1 } },
    });
    expect(plans[0]!.plan.mesh).toMatchObject({ data: 32, tensor: 1, pipeline: 2 });
  });

  it('of LLaMA-65B on 2,048 A100 are faster than its published rate, with a mesh that fits', () => {
    const { plans, limitBytes } = findPlans({
      ...{ model: 'llama-65b', cluster: { preset: 'a100-sxm', devices: 2048 }, globalBatch: 2048 },
      constraints: { mesh: { tensor: 8, context: 1 } },
    });
    // Touvron et al., "LLaMA", 2023, section 2.4: 380 tokens a second and device.
    expect(2048 / plans[0]!.stepSeconds).toBeGreaterThan(380);
    expect(plans[0]!.memoryBytes).toBeLessThanOrEqual(limitBytes);
  });

  it('of GPT-3 on 96 hosts of 8 A100 reach what its worked case does', () => {
    const model = { layers: 96, hidden: 12_288, heads: 96, ...GPT };
    const options = { model, cluster: { preset: 'a100-sxm', devices: 768 }, globalBatch: 1536 };
    const worked = predict({
      ...options,
      plan: {
        mesh: { tensor: 8, pipeline: 8 },
        globalBatch: 1536,
        microBatch: 1,
        chunks: 2,
        recompute: 'full',
      },
    });
    const { plans, doNotFit } = findPlans({ ...options, constraints: { mesh: { tensor: 8, context: 1 } } });
    expect(plans[0]!.stepSeconds).toBeLessThan(worked.stepSeconds);
    expect(plans.every(({ plan }) => plan.mesh.tensor === 8)).toBe(true);
    // Without a pipeline, weights of a device alone take 350 GB ÷ 8 in float32 and 16 bits.
    expect(doNotFit.find(({ plan }) => plan.mesh.data === 96)).toMatchObject({ most: 'weights' });
  });
});

/** Plans of a brute search, of all that `findPlans` may choose. */
function everyPlan(devices: number, globalBatch: number): PlanOptions[] {
  const sizes = divisorsOf(devices);
  const meshes = sizes.flatMap((tensor) =>
    sizes.flatMap((pipeline) =>
      sizes.flatMap((context) => sizes.map((fsdp) => ({ tensor, pipeline, context, fsdp }))),
    ),
  );
  return meshes.flatMap((mesh) =>
    divisorsOf(globalBatch).flatMap((microBatch) =>
      (['none', 'full'] as const).flatMap((recompute) =>
        ([0, 1, 2] as const)
          .filter((stage) => stage === 0 || (mesh.context === 1 && !(stage === 2 && mesh.pipeline > 1)))
          .flatMap((stage) =>
            (['1f1b', 'zeroBubble', 'interleaved', 'gpipe'] as const).flatMap((schedule) =>
              (['bf16', 'fp16', 'float32'] as const).map((precision) => ({
                ...{ mesh, globalBatch, microBatch, recompute, stage, schedule, precision },
                chunks: schedule === 'interleaved' && mesh.pipeline > 1 ? 2 : 1,
                ...{ flashAttention: true, sequenceParallel: mesh.tensor > 1 },
              })),
            ),
          ),
      ),
    ),
  );
}

describe('constraints', () => {
  it.each<[string, SearchOptions['constraints'], Partial<FullPlan>]>([
    ['a stage', { stage: 2 }, { stage: 2 }],
    ['a precision', { precision: 'tf32' }, { precision: 'tf32' }],
    ['a schedule', { schedule: 'gpipe', mesh: { pipeline: 2 } }, { schedule: 'gpipe' }],
    ['a micro-batch', { microBatch: 2 }, { microBatch: 2 }],
    ['an accumulation', { accumulation: 4 }, { accumulation: 4 }],
    ['sections', { checkpointEvery: 2 }, { checkpointEvery: 2, recompute: 'full' }],
    ['no flash attention', { flashAttention: false }, { flashAttention: false }],
    [
      'an axis',
      { mesh: { fsdp: 4 } },
      { stage: 3, mesh: expect.objectContaining({ fsdp: 4 }) as FullPlan['mesh'] },
    ],
    ['recomputation', { recompute: 'full' }, { recompute: 'full' }],
    [
      'offload',
      { offload: { optimizer: true, to: 'nvme' } },
      { offload: { optimizer: true, params: false, to: 'nvme' } },
    ],
  ])('are kept: %s', (_, constraints, expected) => {
    const { plans } = findPlans({ ...ON_8, constraints: constraints! });
    for (const { plan } of plans) expect(plan).toMatchObject(expected);
  });

  it.each<[string, SearchOptions['constraints'], string]>([
    ['an axis', { mesh: { tensor: 3 } }, 'mesh.tensor (3) does not divide the 8 devices'],
    ['a micro-batch', { microBatch: 7 }, 'a micro-batch of 7 does not divide the batch of'],
    [
      'micro-batches',
      { microBatch: 2, accumulation: 2 },
      '2 × 2 (accumulation × microBatch) is not the batch of',
    ],
    ['stages', { mesh: { pipeline: 8 }, chunks: 2 }, '16 stages are more than the 8 layers'],
    [
      'sections',
      { checkpointEvery: 5, mesh: { pipeline: 2 } },
      'sections of 5 layers are more than the 4 of a stage',
    ],
    ['a schedule', { schedule: 'gpipe', mesh: { pipeline: 1 } }, 'a schedule and chunks are for a pipeline'],
    [
      'one chunk of an interleaved schedule',
      { schedule: 'interleaved', chunks: 1, mesh: { pipeline: 2 } },
      'interleaved has two chunks or more',
    ],
    ['an accumulation in a pipeline', { accumulation: 2, mesh: { pipeline: 2 } }, 'accumulation of 1, not 2'],
    [
      'stages of a schedule',
      { schedule: 'interleaved', mesh: { pipeline: 8 } },
      '16 stages are more than the 8 layers',
    ],
    [
      'axes together',
      { mesh: { tensor: 4, pipeline: 4 } },
      'tensor × pipeline (16) does not divide the 8 devices',
    ],
    ['a stage', { stage: 1, mesh: { data: 1 } }, 'stage 1 needs an axis data'],
    [
      'offload',
      { offload: { optimizer: true }, mesh: { pipeline: 2 } },
      'offload does not go with mesh.pipeline',
    ],
  ])('that cannot be kept are an error with the reason: %s', (_, constraints, reason) => {
    const error = errorOf({ ...ON_8, constraints: constraints! });
    expect(error).toMatchObject({ code: 'ACC_PLAN_IMPOSSIBLE' });
    expect(error.message).toContain(reason);
  });

  it('of sections are for full recomputation, as in predict', () => {
    expect(errorOf({ ...ON_8, constraints: { recompute: 'none', checkpointEvery: 2 } })).toMatchObject({
      code: 'ACC_PLAN_SHAPE',
    });
  });

  it('have known names', () => {
    expect(errorOf({ ...ON_8, constraints: { tensr: 2 } as object })).toMatchObject({
      code: 'ACC_UNKNOWN_OPTION',
    });
    expect(errorOf({ ...ON_8, model: 'gpt33' })).toMatchObject({
      code: 'ACC_MODEL_NOT_FOUND',
      help: expect.stringContaining("Did you mean 'gpt3'?") as string,
    });
  });
});

describe('memory', () => {
  it('recomputation is chosen only if activations do not fit without it', () => {
    const options = (memoryBytes: number) => ({
      ...ON_8,
      cluster: { ...ON_8.cluster, memoryBytes },
      constraints: { microBatch: 8, mesh: { data: 8 }, stage: 0 as const },
    });
    const [free] = findPlans(options(80e9)).plans;
    expect(free!.plan).toMatchObject({ recompute: 'none', checkpointEvery: null });
    const [tight] = findPlans(options(free!.memoryBytes / 0.92 - 1)).plans;
    expect(tight!.plan.recompute).toBe('full');
    expect(tight!.stepSeconds).toBeGreaterThan(free!.stepSeconds);
  });

  it('nothing that fits is an error with the least need, and devices that are enough', () => {
    const error = errorOf({ model: 'gpt3', cluster: { preset: 'a100-sxm', devices: 8 }, globalBatch: 8 });
    expect(error).toMatchObject({ code: 'ACC_PLAN_NOTHING_FITS', details: { devices: 64 } });
    expect(error.message).toContain("most are the optimizer's state");
    const enough = findPlans({ model: 'gpt3', cluster: { preset: 'a100-sxm', devices: 64 }, globalBatch: 8 });
    expect(enough.plans.length).toBeGreaterThan(0);
  });

  it('offload to a host that has too little memory does not fit', () => {
    const of = (hostMemoryBytes: number) => ({
      ...ON_8,
      cluster: { ...ON_8.cluster, hostMemoryBytes },
      constraints: { offload: { optimizer: true } },
    });
    expect(findPlans(of(1e12)).plans[0]!.hostMemoryBytes).toBeGreaterThan(1e9);
    const error = errorOf(of(1e8));
    expect(error).toMatchObject({ code: 'ACC_PLAN_NOTHING_FITS' });
    expect(error.message).toContain("of a host's memory");
  });
});

it('plans of a host that was measured are in the precision that it has', () => {
  const { plans, constants } = findPlans({
    model: 'gpt2',
    cluster: {
      ...{ measured: { name: 'a host', flopsPerSecond: { float32: 1e11, bf16: 5e10 } }, devices: 2 },
      ...{ devicesPerHost: 2, memoryBytes: 16e9, memoryBytesPerSecond: 1e10, hostMemoryBytes: 32e9 },
      ...{ linkBytesPerSecond: 3.68e9, linkLatencySeconds: 6e-6 },
    },
    globalBatch: 8,
  });
  expect(plans[0]!.plan.precision).toBe('float32');
  expect(plans[0]!.plan.mesh).toMatchObject({ tensor: 1, pipeline: 1 });
  const originOf = (part: string) => constants.find(({ name }) => name.startsWith(part))!.origin;
  expect(originOf('products')).toBe('given in the cluster');
  expect(originOf('device to host')).toBe('taken as the rate of its memory');
  expect(originOf('reached of products')).toBe('rates that were measured count as reached');
});

it('constants name where they are from, those of the user among them', () => {
  const { constants } = findPlans({ ...ON_8, cluster: { ...ON_8.cluster, linkBytesPerSecond: 5e10 } });
  expect(constants.find(({ name }) => name === 'link on a host')).toMatchObject({
    ...{ value: 5e10, origin: 'given in the cluster' },
  });
  expect(constants.every(({ origin }) => origin.length > 3)).toBe(true);
  expect(new Set(constants.map(({ name }) => name)).size).toBe(constants.length);
  // One host has no network.
  expect(constants.some(({ name }) => name === 'network of a device')).toBe(false);
});
