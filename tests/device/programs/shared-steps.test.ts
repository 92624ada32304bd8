// As tests/device/steps.test.ts, on two ranks, in more ways, and through memory of the host.
import { beforeAll, expect, it } from 'vitest';
import type { Trained } from '../ranks/train.js';
import { expectReads, expectSame, RUNS_MS, trainedOnCpu, trainedOnDevice, type ReadingWay } from '../ways.js';

const STAGED: readonly ReadingWay[] = [
  { name: 'ddp', options: { strategy: 'ddp' } },
  { name: 'fsdp', options: { strategy: 'fsdp' } },
  { name: 'ddp in bf16', options: { strategy: 'ddp', mixedPrecision: 'bf16' } },
];
const STREAMS: readonly ReadingWay[] = [
  { name: 'fsdp with offload', options: { strategy: 'fsdp', fsdp: { cpuOffload: true } } },
  { name: 'fsdp in bf16', options: { strategy: 'fsdp', mixedPrecision: 'bf16' } },
  // The loss scaler asks in each step whether gradients are finite.
  { name: 'ddp in fp16', options: { strategy: 'ddp', mixedPrecision: 'fp16' }, reads: 1 },
  { name: 'fsdp in fp16', options: { strategy: 'fsdp', mixedPrecision: 'fp16' }, reads: 2 },
  { name: 'ddp, compiled', options: { strategy: 'ddp' }, isCompiled: true },
];

let onCpu: Trained[][];
let staged: Trained[][];
let streams: Trained[][];
beforeAll(async () => {
  onCpu = await trainedOnCpu([...STAGED, ...STREAMS], 2);
  staged = await trainedOnDevice(STAGED, 2, { engine: 'gloo' });
  streams = await trainedOnDevice(STREAMS, 2, { engine: 'nccl', streamWaits: true });
}, RUNS_MS);

it.each(STAGED.map((way, i) => [way.name, way, i] as const))(
  '%s over Gloo: the devices train as the CPU does',
  (_, way, i) => {
    expect(staged).toHaveLength(2);
    staged.forEach((results, rank) => expectSame(way, rank, onCpu[rank]![i]!, results[i]!));
  },
);

it.each(STREAMS.map((way, i) => [way.name, way, i] as const))(
  '%s: the devices train as the CPU does, and a step reads only what the loss scale needs',
  (_, way, i) => {
    expect(streams).toHaveLength(2);
    streams.forEach((results, rank) => {
      expectSame(way, rank, onCpu[rank]![STAGED.length + i]!, results[i]!);
      expectReads(way, results[i]!);
    });
  },
);

it(
  'streams that shall wait for Gloo are refused, on both ranks',
  async () => {
    const trained = trainedOnDevice([STAGED[0]!], 2, { engine: 'gloo', streamWaits: true });
    await expect(trained).rejects.toThrow(/2 of 2 ranks failed[^]*collective\.streamWaits is true/);
  },
  RUNS_MS,
);
