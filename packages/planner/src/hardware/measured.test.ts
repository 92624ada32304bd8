import { describe, expect, it } from 'vitest';
import type { ClusterOptions } from '../options.js';
import { predict } from '../predict.js';

describe('a device that was measured', () => {
  const measured = {
    ...{ measured: { name: 'a host', flopsPerSecond: { float32: 1e11 } }, devices: 2, devicesPerHost: 2 },
    ...{ memoryBytes: 4e9, memoryBytesPerSecond: 1e10, hostMemoryBytes: 8e9 },
    ...{ linkBytesPerSecond: 3.68e9, linkLatencySeconds: 6e-6 },
  };
  const model = { layers: 2, hidden: 64, heads: 4, vocabulary: 256, sequence: 32 };
  const of = (cluster: object) =>
    predict({
      model,
      cluster: cluster as ClusterOptions,
      plan: { mesh: { data: 2 }, globalBatch: 8, microBatch: 4 },
    });

  it('reaches its rates as they are, and divides gradients over its link', () => {
    const { breakdown, flops, mfu, stepSeconds } = of(measured);
    expect(breakdown.products + breakdown.attention).toBeCloseTo(flops.model / 2 / 1e11, 12);
    expect(mfu).toBeCloseTo(flops.model / 2 / 1e11 / stepSeconds, 12);
    const parameters = 2 * (12 * 64 * 64 + 13 * 64) + (256 + 32) * 64 + 2 * 64;
    expect(breakdown.dataCommunication).toBeCloseTo(2 * 6e-6 + (4 * parameters) / 3.68e9, 9);
  });

  it.each([
    [
      'a constant that is missing',
      { ...measured, linkBytesPerSecond: undefined },
      'lacks linkBytesPerSecond',
    ],
    ['no network between hosts', { ...measured, devicesPerHost: 1 }, 'lacks networkBytesPerSecond'],
    ['a preset beside it', { ...measured, preset: 'a100-sxm' }, 'both preset and measured'],
    ['neither', { devices: 2 }, 'neither preset nor measured'],
  ])('refuses %s', (_, cluster, text) => {
    expect(() => of(cluster)).toThrow(
      expect.objectContaining({ code: 'ACC_PLAN_CLUSTER', message: expect.stringContaining(text) as string }),
    );
  });
});
