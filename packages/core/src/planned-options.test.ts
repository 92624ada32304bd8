import { describe, expect, it } from 'vitest';
import { findPlans, type PlanConstraints } from '@acc/planner';
import { resolveOptions } from './options.js';

const MODEL = { layers: 8, hidden: 1024, heads: 8, vocabulary: 51_200, sequence: 1024 };

describe('options of plans', () => {
  it.each<[string, PlanConstraints]>([
    ['of all kinds', {}],
    ['on data alone', { mesh: { tensor: 1, pipeline: 1, context: 1, fsdp: 1 }, stage: 0 }],
    ['of stage 1 in a pipeline', { mesh: { pipeline: 2 }, stage: 1 }],
    ['of stage 2', { stage: 2 }],
    ['of stage 3 with replicas', { mesh: { data: 2, fsdp: 4 }, accumulation: 2 }],
    ['with tensor and sections', { mesh: { tensor: 2 }, checkpointEvery: 2 }],
    ['of sequences that are cut', { mesh: { context: 4 } }],
    ['interleaved', { mesh: { pipeline: 4 }, schedule: 'interleaved' }],
    ['gpipe', { mesh: { pipeline: 4 }, schedule: 'gpipe' }],
    ['with offload', { offload: { optimizer: true, params: true, to: 'nvme' } }],
    ['in float32', { precision: 'float32' }],
    ['in tf32', { precision: 'tf32' }],
    ['in fp16', { precision: 'fp16' }],
    ['in fp8', { precision: 'fp8' }],
  ])('are those of create, and go together: %s', (_, constraints) => {
    const cluster = { preset: 'h100-sxm', devices: 8 };
    const { plans } = findPlans({ model: MODEL, cluster, globalBatch: 64, constraints });
    for (const { plan, create } of plans) {
      const resolved = resolveOptions(create.options);
      const product = Object.values(resolved.mesh ?? {}).reduce<number>((all, size) => all * (size ?? 1), 1);
      expect(product).toBe(8);
      // Rows of all ranks in a step.
      const windows = resolved.gradientAccumulationSteps;
      const { data, fsdp } = plan.mesh;
      expect(create.batchSize * windows * data * fsdp).toBe(64);
    }
  });
});
