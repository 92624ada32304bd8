// Trains on the CPU and on the device of tests, whose streams run late, and compares. Counts what a
// step does: one that reads a value waits for the device, which a GPU cannot hide.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Trained } from './ranks/train.js';
import { expectReads, expectSame, RUNS_MS, trainedOnCpu, trainedOnDevice, type ReadingWay } from './ways.js';

const SINGLE: readonly ReadingWay[] = [
  { name: 'eager', options: {} },
  { name: 'bf16', options: { mixedPrecision: 'bf16' } },
  // The loss scaler asks in each step whether gradients are finite.
  { name: 'fp16', options: { mixedPrecision: 'fp16' }, reads: 1 },
  { name: 'compiled', options: {}, isCompiled: true },
  { name: 'activation checkpointing', options: { checkpointEvery: 1 } },
  { name: 'offload to the host', options: { strategy: 'fsdp', fsdp: { cpuOffload: true } } },
];

describe('one process', () => {
  let onCpu: Trained[];
  let onDevice: Trained[];
  beforeAll(async () => {
    [onCpu] = (await trainedOnCpu(SINGLE, 1)) as [Trained[]];
    [onDevice] = (await trainedOnDevice(SINGLE, 1)) as [Trained[]];
  }, RUNS_MS);

  it.each(SINGLE.map((way, i) => [way.name, way, i] as const))(
    '%s: the device trains as the CPU does',
    (_, way, i) => expectSame(way, 0, onCpu[i]!, onDevice[i]!),
  );

  it.each(SINGLE.map((way, i) => [way.name, way.reads ?? 0, way, i] as const))(
    '%s: a step reads %i values',
    (_, _reads, way, i) => expectReads(way, onDevice[i]!),
  );

  it('a compiled step with lookups is replayed on both', () => {
    const compiled = SINGLE.findIndex(({ isCompiled }) => isCompiled);
    for (const { replays, steps } of [onCpu[compiled]!, onDevice[compiled]!]) expect(replays).toBe(steps);
  });
});

const SHARED: readonly ReadingWay[] = [
  { name: 'ddp', options: { strategy: 'ddp' } },
  { name: 'fsdp', options: { strategy: 'fsdp' } },
  { name: 'ddp in bf16', options: { strategy: 'ddp', mixedPrecision: 'bf16' } },
];

// tests/device/programs has more ways, and Gloo.
describe('two ranks, each with a device of its own, whose stream waits for collectives', () => {
  let onCpu: Trained[][];
  let onDevice: Trained[][];
  beforeAll(async () => {
    onCpu = await trainedOnCpu(SHARED, 2);
    onDevice = await trainedOnDevice(SHARED, 2, { engine: 'nccl', streamWaits: true });
  }, RUNS_MS);

  it.each(SHARED.map((way, i) => [way.name, way, i] as const))(
    '%s: the devices train as the CPU does, and a step reads nothing',
    (_, way, i) => {
      expect(onDevice).toHaveLength(2);
      onDevice.forEach((results, rank) => {
        expectSame(way, rank, onCpu[rank]![i]!, results[i]!);
        expectReads(way, results[i]!);
      });
    },
  );
});
