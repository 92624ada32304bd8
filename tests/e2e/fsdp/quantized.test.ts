import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Loaded, Saved, Way } from './ranks/quantized.js';

const module = new URL('./ranks/quantized.ts', import.meta.url);
const SIZES = [1, 2, 3];
const WAYS: readonly Way[] = ['ddp', 'stage2', 'stage3', 'offload'];
const DIVIDING: readonly Way[] = ['stage3', 'offload'];
const CLOSE = { rtol: 1e-5, atol: 1e-6 };
/** Of the packed weights' records: numbers, scales, and what fills a record up to whole words. */
const RECORD_BYTES =
  160 * (32 + 4) + 64 * 5 * (16 + 4) + 35 * (64 + 4) + 96 * (36 + 4) + 32 * (32 + 4) + 64 * 2 * 96;
/** Of the trained weights. */
const TRAINED_BYTES = 4 * (64 + 160 + 96 * 3);

const saved = new Map<number, Record<Way, Saved>[]>();
const loaded = new Map<number, Record<string, Loaded>[]>();
const folder = mkdtempSync(join(tmpdir(), 'acc-quantized-'));

function run<T>(ranks: number, phase: 'save' | 'load'): Promise<T[]> {
  const env = { OMP_NUM_THREADS: '1' };
  return onRanks<T>({ module, ranks, args: { phase, folder }, env });
}

beforeAll(async () => {
  for (const ranks of SIZES) saved.set(ranks, await run(ranks, 'save'));
  for (const ranks of SIZES) loaded.set(ranks, await run(ranks, 'load'));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe.each(SIZES)('on %i ranks, packed weights', (ranks) => {
  it.each(WAYS)('are those of rank 0, bit for bit, before and after training: %s', (way) => {
    const expected = saved.get(1)![0]!.ddp.packed;
    for (const each of saved.get(ranks)!) {
      expect(each[way].packed).toEqual(expected);
      expect(each[way].stateDict).toEqual(expected);
    }
  });

  it.each(WAYS)('give the steps and predictions of one process: %s', (way) => {
    const alone = saved.get(1)![0]!.ddp;
    for (const each of saved.get(ranks)!) {
      expectClose(each[way].losses, alone.losses, CLOSE);
      expectClose(each[way].last, alone.last, CLOSE);
      // Products of few rows have 16 bits.
      expectClose(each[way].predicted, alone.predicted, { rtol: 2e-2, atol: 2e-2 });
    }
  });

  it.each(WAYS)('are a base on which adapters train as in one process: %s', (way) => {
    const alone = saved.get(1)![0]!.ddp.qlora;
    for (const { [way]: each } of saved.get(ranks)!) {
      expectClose(each.qlora.losses, alone.losses, CLOSE);
      expectClose(each.qlora.adapters, alone.adapters, { rtol: 1e-4, atol: 1e-6 });
      expect(each.qlora.isSame).toBe(true);
    }
  });

  it.each(WAYS)('that are trained for their rounding are those of one process: %s', (way) => {
    const alone = saved.get(1)![0]![way].qat;
    // Sums of 16-bit numbers have another order on each number of ranks, so a weight may be rounded up or down.
    const isShort = way === 'stage2';
    const close = isShort ? { rtol: 2e-2, atol: 2e-2 } : { rtol: 1e-4, atol: 1e-5 };
    for (const { [way]: each } of saved.get(ranks)!) {
      for (const key of ['losses', 'weights', 'ranges', 'packed'] as const) {
        if (!isShort || key !== 'packed') expectClose(each.qat[key], alone[key], close);
      }
      expect(each.qat.difference).toBeLessThan(1e-5);
      // All but the number of passes.
      const [before, frozen] = each.qat.ranges.slice(-2).map((list) => list.filter((_, i) => i % 3 < 2));
      expect(frozen).toEqual(before);
    }
    expect(new Set(alone.losses).size).toBe(alone.losses.length);
    expect(alone.ranges[1]).not.toEqual(alone.ranges[0]);
  });

  it.each(WAYS)(
    'that calibration has packed are those of rank 0, with the ranges of its inputs: %s',
    (way) => {
      const alone = saved.get(1)![0]!.ddp.calibrated;
      expect(Object.keys(alone.inputs).sort()).toEqual([
        'conv/input_range',
        'middle/input_range',
        'middle/input_scale',
      ]);
      for (const { [way]: each } of saved.get(ranks)!) {
        expect(each.calibrated.inputs).toEqual(alone.inputs);
        expectClose(each.calibrated.predicted, alone.predicted, CLOSE);
        expectClose(each.calibrated.loaded, alone.predicted, CLOSE);
      }
    },
  );

  it.each(WAYS)('are saved packed: %s', (way) => {
    const { fileBytes, modelBytes } = saved.get(ranks)![0]![way];
    // The trained weights and their state; names and descriptions.
    expect(fileBytes).toBeLessThan(RECORD_BYTES + 3 * TRAINED_BYTES + 50_000);
    expect(modelBytes).toBeLessThan(RECORD_BYTES + TRAINED_BYTES + 4_000);
  });
});

it('each step has another loss', () => {
  const { losses, qlora } = saved.get(1)![0]!.ddp;
  for (const list of [losses, qlora.losses]) expect(new Set(list).size).toBe(list.length);
});

describe.each([2, 3])('on %i ranks, packed weights', (ranks) => {
  it.each(DIVIDING)('take a share of their packed bytes on a rank: %s', (way) => {
    // All but the largest share of each weight, and the alignment of small blocks.
    const least = RECORD_BYTES * (1 - 1 / ranks) - 12_000;
    for (const each of saved.get(ranks)!) expect(each[way].freedBytes).toBeGreaterThan(least);
  });
});

const OTHER_FORMAT = ['ACC_CHECKPOINT_MISMATCH', 'ACC_WEIGHTS_MISMATCH'];
/** Of a gradient in both shapes, of a variable with the same packed values, and after a move to another backend. */
const DIVIDED = [
  'ACC_QUANTIZED_FROZEN',
  'ACC_QUANTIZED_FROZEN',
  'ACC_QUANTIZED_PLACE',
  'ACC_QUANTIZED_PLACE',
];
const WHOLE = [...DIVIDED.slice(0, 2), 'done', 'done'];
const pairs = SIZES.flatMap((size) => WAYS.map((from) => ({ size, from, to: (size % 3) + 1 })));

it.each(pairs)('what $size ranks save under $from goes on as if not interrupted on $to ranks', (pair) => {
  const { size, from, to } = pair;
  const whole = saved.get(size)![0]![from];
  for (const each of loaded.get(to)!) {
    const found = each[`${size}-${from}`]!;
    expect(found.packed).toEqual(whole.packed);
    expect(found.ofModel).toEqual(whole.packed);
    expectClose(found.last, whole.last, CLOSE);
    if (from === 'stage3') expect(found.codes).toEqual([...OTHER_FORMAT, ...(to === 1 ? WHOLE : DIVIDED)]);
  }
});
