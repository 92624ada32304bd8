import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Result, Way } from './ranks/layouts.js';

const RANKS = 4;
const PARAMETERS = 2 * 48 * 48 + 48 + 3 * 48 + 2 * 3 + 3;
const CLOSE = { rtol: 1e-4, atol: 1e-6 };
let results: Result[];

beforeAll(async () => {
  results = await onRanks<Result>({
    module: new URL('./ranks/layouts.ts', import.meta.url),
    ranks: RANKS,
    args: mkdtempSync(join(tmpdir(), 'acc-fsdp-')),
    env: { OMP_NUM_THREADS: '1' },
  });
});

const sum = (sent: Record<string, number>) => Object.values(sent).reduce((a, b) => a + b, 0);

describe('on four ranks', () => {
  const ways: Way[] = [
    'stage1',
    'stage2',
    'stage3',
    'hosts',
    'mesh',
    'mesh1',
    'ofMesh',
    'ofAxis',
    'replicas',
  ];

  it.each(ways)('%s takes the steps of ddp', (way) => {
    for (const { trained } of results) {
      expect(trained[way].leaked).toBe(0);
      trained[way].weights.forEach((weights, i) => expectClose(weights, trained.ddp.weights[i]!, CLOSE));
      expect(trained[way].weights[2]).not.toEqual(trained[way].weights[0]);
    }
  });

  it('a rank has a place on the axes of its mesh', () => {
    results.forEach(({ trained }, rank) => {
      expect(trained.ddp.coordinates).toEqual({ data: rank });
      expect(trained.stage3.coordinates).toEqual({ fsdp: rank });
      const grid = { data: Math.floor(rank / 2), fsdp: rank % 2 };
      expect(trained.hosts.coordinates).toEqual(grid);
      expect(trained.mesh.coordinates).toEqual(grid);
    });
  });

  it.each([
    ['ofMesh', 'mesh'],
    ['ofAxis', 'stage3'],
  ] as const)('a mesh with the axis fsdp shards without the name of the strategy: %s', (way, named) => {
    for (const { trained } of results) {
      trained[way].weights.forEach((weights, i) => expectClose(weights, trained[named].weights[i]!, CLOSE));
      expect(trained[way].coordinates).toEqual(trained[named].coordinates);
      expect(trained[way].sent).toEqual(trained[named].sent);
    }
  });

  // ZeRO, section 7: an all-reduce sends as much as a reduce-scatter and an all-gather.
  it.each([
    ['stage1', 1],
    ['stage2', 1],
    ['stage3', 1.5],
  ] as const)('%s sends %d times as much as ddp', (way, times) => {
    for (const { trained } of results) {
      const ratio = sum(trained[way].sent) / sum(trained.ddp.sent);
      expect(ratio).toBeGreaterThan(times * 0.95);
      expect(ratio).toBeLessThan(times * 1.05);
    }
  });

  it('a hybrid sends whole parameters only within a line of the mesh', () => {
    for (const { trained } of results) {
      const { data, fsdp } = trained.mesh.sent as { data: number; fsdp: number };
      // Half of the gradients go to the other line: two ranks send one half each.
      const half = (PARAMETERS / 2) * 4;
      expect(data).toBeGreaterThan(half * 0.95);
      expect(data).toBeLessThan(half * 1.05);
      expect(fsdp).toBeGreaterThan(3 * half * 0.95);
      expect(fsdp).toBeLessThan(3 * half * 1.05);
    }
  });

  it('what one layout has saved goes on in another', () => {
    const { ddp } = results[0]!.resumed;
    for (const { resumed } of results) {
      for (const from of ['ddp', 'mesh', 'stage3']) {
        for (const way of ['ddp', 'mesh', 'stage3']) {
          const [saved, later] = resumed[from]![way]!;
          expectClose(saved!, ddp!['ddp']![0]!, CLOSE);
          expectClose(later!, ddp!['ddp']![1]!, CLOSE);
          expect(later).not.toEqual(saved);
        }
      }
    }
  });

  it('operators of a step see parameters rounded to `param`, and reads the parameters themselves', () => {
    for (const { precise } of results) {
      const { ways, rounded, plain } = precise;
      expect(ways['param']).toEqual(rounded);
      // In stage 2, parameters stay in memory between steps, as they are.
      expectClose(ways['param2']!.flat(), plain.flat(), { rtol: 1e-6, atol: 1e-6 });
      for (const [way, reads] of Object.entries(precise.later)) {
        for (const read of reads) expect(read).toEqual(ways[way]!.at(-1));
      }
      expect(Object.keys(precise.later)).toEqual(['param', 'param2', 'reduce', 'whole']);
      const most = Math.max(...rounded[3]!.map((value, i) => Math.abs(value - plain[3]![i]!)));
      expect(most).toBeGreaterThan(1e-4);
    }
  });

  it.each(['reduce', 'whole'])('gradients are summed over ranks in 16 bits: %s', (way) => {
    for (const { precise } of results) {
      expectClose(precise.ways[way]!.flat(), precise.plain.flat(), { rtol: 2e-2, atol: 1e-2 });
      const differences = precise.ways[way]![0]!.map((value, i) => Math.abs(value - precise.plain[0]![i]!));
      expect(Math.max(...differences)).toBeGreaterThan(1e-5);
    }
  });

  it('the statistics of layers are rounded to `buffer`', () => {
    for (const { buffers } of results) {
      expect(buffers.some((value) => value !== 0 && value !== 1)).toBe(true);
      const bits = new Uint32Array(Float32Array.from(buffers).buffer);
      for (const one of bits) expect(one & 0xffff).toBe(0);
    }
  });

  it('weights of frozen layers are divided, keep their values and are gathered for their use', () => {
    for (const { frozen } of results) {
      expect(frozen.bytes).toBeLessThan(0.3 * 128 * 128 * 4);
      expectClose(frozen.weights, frozen.before, { rtol: 0, atol: 0 });
      expectClose(frozen.predicted, results[0]!.frozen.expected, CLOSE);
    }
  });

  it('what cannot be laid out is an error on every rank', () => {
    for (const { codes } of results) {
      expect(codes).toEqual({
        size: 'ACC_INVALID_OPTION',
        axis: 'ACC_INVALID_OPTION',
        unused: 'ACC_INVALID_OPTION',
        alone: 'ACC_INVALID_OPTION',
        whole: 'ACC_INVALID_OPTION',
        unknown: 'ACC_UNKNOWN_OPTION',
        precision: 'ACC_INVALID_OPTION',
        hosts: 'ACC_HOSTS_DIFFER',
        differ: 'ACC_OPTIONS_DIFFER',
      });
    }
  });
});
