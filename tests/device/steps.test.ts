import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';
import type { Trained, Way } from './ranks/train.js';

const SINGLE: readonly Way[] = [
  { name: 'eager', options: {} },
  { name: 'bf16', options: { mixedPrecision: 'bf16' } },
  { name: 'fp16', options: { mixedPrecision: 'fp16' } },
  { name: 'compiled', options: {}, isCompiled: true },
  { name: 'activation checkpointing', options: { checkpointEvery: 1 } },
];
const script = new URL('./ranks/train.ts', import.meta.url);

async function trained(ways: readonly Way[], ranks: number, env: Record<string, string>): Promise<Trained[][]> {
  return resultsOfRanks<Trained[]>({ script, ranks, args: [JSON.stringify(ways)], env, timeoutMs: 110_000 });
}

describe('one process', () => {
  let onCpu: Trained[];
  let onDevice: Trained[];
  beforeAll(async () => {
    [onCpu] = (await trained(SINGLE, 1, { DEVICE: 'cpu' })) as [Trained[]];
    [onDevice] = (await trained(SINGLE, 1, { DEVICE: 'late', DELAYS: '100' })) as [Trained[]];
  });

  it.each(SINGLE.map(({ name }, i) => [name, i] as const))('%s: the device trains as the CPU does', (name, i) => {
    const [cpu, device] = [onCpu[i]!, onDevice[i]!];
    expect([cpu.device, device.device]).toEqual(['cpu', 'late:0']);
    const tolerance = name === 'bf16' || name === 'fp16' ? { rtol: 2e-2, atol: 2e-2 } : { rtol: 1e-4, atol: 1e-5 };
    expectClose(device.losses, cpu.losses, tolerance);
    device.weights.forEach((values, k) => expectClose(values, cpu.weights[k]!, tolerance));
  });

  it.each(SINGLE.map(({ name }, i) => [name, i] as const))('%s: a step reads nothing', (_, i) => {
    const { counts } = onDevice[i]!;
    console.log(SINGLE[i]!.name, JSON.stringify(counts));
    expect(counts).toMatchObject({ reads: 0, waits: 0 });
  });
});
