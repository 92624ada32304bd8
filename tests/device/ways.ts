import { expect } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';
import type { AcceleratorOptions } from '@acc/core';
import type { Trained, Way } from './ranks/train.js';

/** A way to train, with the values that a step reads. Absent: none. */
export interface ReadingWay extends Way {
  readonly reads?: number;
}

/** A busy machine may need long for the ways of one run. */
const RUN_MS = 280_000;
/** Of a hook with two or three runs. */
export const RUNS_MS = 900_000;
const script = new URL('./ranks/train.ts', import.meta.url);

/** Trains in each way, on each rank. */
async function trained(
  ways: readonly Way[],
  ranks: number,
  env: Record<string, string>,
): Promise<Trained[][]> {
  return resultsOfRanks<Trained[]>({ script, ranks, args: [JSON.stringify(ways)], env, timeoutMs: RUN_MS });
}

/** Trains on the CPU: the results of each rank, by way. */
export const trainedOnCpu = (ways: readonly Way[], ranks: number): Promise<Trained[][]> =>
  trained(ways, ranks, { DEVICE: 'cpu' });

/** Trains on a device for each rank, whose streams run late. */
export const trainedOnDevice = (
  ways: readonly Way[],
  ranks: number,
  collective?: AcceleratorOptions['collective'],
): Promise<Trained[][]> =>
  trained(ways, ranks, {
    DEVICE: 'late',
    DELAYS: '100',
    ...(collective && { COLLECTIVE: JSON.stringify(collective) }),
  });

/** Expects that the device of a rank has trained as the CPU has. */
export function expectSame({ name }: Way, rank: number, cpu: Trained, device: Trained): void {
  const is16Bit = /\b(bf16|fp16)$/.test(name);
  const tolerance = is16Bit ? { rtol: 2e-2, atol: 2e-2 } : { rtol: 1e-4, atol: 1e-5 };
  expect([cpu.device, device.device]).toEqual(['cpu', `late:${rank}`]);
  expectClose(device.losses, cpu.losses, tolerance);
  expect(device.weights).toHaveLength(cpu.weights.length);
  device.weights.forEach((values, k) => expectClose(values, cpu.weights[k]!, tolerance));
}

/** Expects that a step reads, and waits for, the values of its way and no others. */
export function expectReads({ reads = 0 }: ReadingWay, { counts, steps }: Trained): void {
  expect(counts).toMatchObject({ reads: reads * steps, waits: reads * steps });
  expect(counts.launches).toBeGreaterThan(20 * steps);
}
