// Trains on the CPU and on the device of tests, whose streams run late, and compares. Counts what a
// step does: one that reads a value waits for the device, which a GPU cannot hide.
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';
import type { AcceleratorOptions } from '@acc/core';
import type { Trained, Way } from './ranks/train.js';

const SINGLE: readonly (Way & { reads?: number })[] = [
  { name: 'eager', options: {} },
  { name: 'bf16', options: { mixedPrecision: 'bf16' } },
  // The loss scaler asks in each step whether gradients are finite.
  { name: 'fp16', options: { mixedPrecision: 'fp16' }, reads: 1 },
  { name: 'compiled', options: {}, isCompiled: true },
  { name: 'activation checkpointing', options: { checkpointEvery: 1 } },
  { name: 'offload to the host', options: { strategy: 'fsdp', fsdp: { cpuOffload: true } } },
];
type CollectiveOptions = AcceleratorOptions['collective'];

const RUN_MS = 110_000;
const TWO_RUNS_MS = 240_000;
const script = new URL('./ranks/train.ts', import.meta.url);

async function trained(
  ways: readonly Way[],
  ranks: number,
  env: Record<string, string>,
): Promise<Trained[][]> {
  return resultsOfRanks<Trained[]>({ script, ranks, args: [JSON.stringify(ways)], env, timeoutMs: RUN_MS });
}

describe('one process', () => {
  let onCpu: Trained[];
  let onDevice: Trained[];
  beforeAll(async () => {
    [onCpu] = (await trained(SINGLE, 1, { DEVICE: 'cpu' })) as [Trained[]];
    [onDevice] = (await trained(SINGLE, 1, { DEVICE: 'late', DELAYS: '100' })) as [Trained[]];
  }, TWO_RUNS_MS);

  it.each(SINGLE.map(({ name }, i) => [name, i] as const))(
    '%s: the device trains as the CPU does',
    (name, i) => {
      const [cpu, device] = [onCpu[i]!, onDevice[i]!];
      expect([cpu.device, device.device]).toEqual(['cpu', 'late:0']);
      const tolerance =
        name === 'bf16' || name === 'fp16' ? { rtol: 2e-2, atol: 2e-2 } : { rtol: 1e-4, atol: 1e-5 };
      expectClose(device.losses, cpu.losses, tolerance);
      device.weights.forEach((values, k) => expectClose(values, cpu.weights[k]!, tolerance));
    },
  );

  it.each(SINGLE.map((way, i) => [way.name, way.reads ?? 0, i] as const))(
    '%s: a step reads %i values',
    (_, reads, i) => {
      const { counts, steps } = onDevice[i]!;
      expect(counts).toMatchObject({ reads: reads * steps, waits: reads * steps });
      expect(counts.launches).toBeGreaterThan(20 * steps);
    },
  );

  it('a compiled step with lookups is replayed on both', () => {
    const compiled = SINGLE.findIndex(({ isCompiled }) => isCompiled);
    for (const { replays, steps } of [onCpu[compiled]!, onDevice[compiled]!]) expect(replays).toBe(steps);
  });
});

const SHARED: readonly (Way & { reads?: number })[] = [
  { name: 'ddp', options: { strategy: 'ddp' } },
  { name: 'fsdp', options: { strategy: 'fsdp' } },
  { name: 'ddp in bf16', options: { strategy: 'ddp', mixedPrecision: 'bf16' } },
  { name: 'fsdp with offload', options: { strategy: 'fsdp', fsdp: { cpuOffload: true } } },
  { name: 'fsdp in bf16', options: { strategy: 'fsdp', mixedPrecision: 'bf16' } },
  // The loss scaler asks in each step whether gradients are finite.
  { name: 'ddp in fp16', options: { strategy: 'ddp', mixedPrecision: 'fp16' }, reads: 1 },
  { name: 'fsdp in fp16', options: { strategy: 'fsdp', mixedPrecision: 'fp16' }, reads: 2 },
  { name: 'ddp, compiled', options: { strategy: 'ddp' }, isCompiled: true },
];

describe('two ranks, each with a device of its own', () => {
  const onDevice: Trained[][][] = [];
  let onCpu: Trained[][];
  /** How the ranks exchange tensors, and in how many of the cases. Gloo's have the same parts in each. */
  const WAITS: readonly (readonly [CollectiveOptions, number])[] = [
    [{ engine: 'nccl', streamWaits: true }, SHARED.length],
    [{ engine: 'gloo' }, 3],
  ];
  beforeAll(async () => {
    onCpu = await trained(SHARED, 2, { DEVICE: 'cpu' });
    for (const [collective, number] of WAITS) {
      const env = { DEVICE: 'late', DELAYS: '100', COLLECTIVE: JSON.stringify(collective) };
      onDevice.push(await trained(SHARED.slice(0, number), 2, env));
    }
  }, 2 * TWO_RUNS_MS);

  const cases = SHARED.map((way, i) => ({ ...way, i }));

  it.each(cases)('$name: the devices train as the CPU does', ({ name, i }) => {
    const tolerance = / in (b|f)/.test(name) ? { rtol: 2e-2, atol: 2e-2 } : { rtol: 1e-4, atol: 1e-5 };
    expect(onDevice[0]![0]![i]).toBeDefined();
    for (const results of onDevice) {
      results.forEach((of, rank) => {
        const [cpu, device] = [onCpu[rank]![i]!, of[i]];
        if (!device) return;
        expect(device.device).toBe(`late:${rank}`);
        expectClose(device.losses, cpu.losses, tolerance);
        device.weights.forEach((values, k) => expectClose(values, cpu.weights[k]!, tolerance));
      });
    }
  });

  it.each(cases)('$name: a step reads only what the loss scale needs', ({ reads = 0, i }) => {
    for (const of of onDevice[0]!) {
      const { counts, steps } = of[i]!;
      expect(counts).toMatchObject({ reads: reads * steps, waits: reads * steps });
      expect(counts.launches).toBeGreaterThan(20 * steps);
    }
  });
});
