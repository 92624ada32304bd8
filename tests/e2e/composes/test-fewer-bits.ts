// The tests of the guide's table on fewer bits: each cell is trained, and compared with one process.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { llama, savePretrained } from '@acc/transformer';
import { linesOfTable } from '../../../packages/core/src/testing/lines-of-table.js';
import { onRanks } from '../on-ranks.js';
import { expectNear } from '../transformer/compare.js';
import {
  CELLS,
  isPacked,
  linesOfGuide,
  nameOf,
  refusalOf,
  type Cell,
  type Column,
  type Row,
} from './fewer-bits.js';
import type { Args, Refused } from './ranks/fewer-bits.js';
import { LLAMA, trainCell, type TrainedCell, type Way } from './train-fewer-bits.js';

const GUIDE = new URL('../../../site/docs/guide/quantization.md', import.meta.url);

/** In `npm test`, beside all refusals. */
const SHORT = ['smoothQuant compile', 'awq loaded', 'qat clipping'];
const TRIED = CELLS.filter(
  (cell) => inject('isRelease') || refusalOf(cell) || SHORT.includes(`${cell.row} ${cell.column}`),
);
const ON_RANKS = TRIED.filter(({ column }) => column !== 'plain');

/** Ranks round sums of their own rows, or numbers that differ in their last bits. Other rows: 1e-4. */
const TOLERANCE: Partial<Readonly<Record<Row, number>>> = {
  ...{ dynamic: 1e-2, static: 1e-2, smoothQuant: 1e-2, qat: 2e-2 },
  ...{ int8Products: 4e-2, fp8Products: 8e-2, delayed: 8e-2 },
  ...{ state8: 1e-2, state4: 5e-2 },
};
const toleranceOf = (row: Row) => TOLERANCE[row] ?? 1e-4;

/** The same training with float32 numbers alone. */
function floatOf(row: Row): Way {
  if (row === 'qlora') return 'float32 adapters';
  if (row === 'crossEntropy') return 'float32 logits';
  return isPacked(row) ? 'float32, frozen' : 'float32';
}

const IN_8_BITS: readonly Row[] = ['int8Products', 'fp8Products', 'delayed'];

/** The same training without what the row adds. */
const withoutIt = (row: Row): Way =>
  (['dynamic', 'static', 'smoothQuant'] as Row[]).includes(row) ? 'int8' : floatOf(row);

/** Tries the cells, and compares the guide with the table. */
export function testFewerBits(): void {
  const folder = mkdtempSync(join(tmpdir(), 'acc-fewer-bits-'));
  const base = join(folder, 'llama');
  const alone = new Map<string, TrainedCell>();
  const found = new Map<string, (TrainedCell | Refused)[]>();

  const aloneOf = (row: Way, column: Column) =>
    alone.get(`${row} ${column === 'clipping' ? column : 'plain'}`)!;

  async function trainAlone(row: Way, column: Column): Promise<void> {
    const key = `${row} ${column}`;
    if (!alone.has(key)) alone.set(key, await trainCell(row, column, { own: folder, llama: base }, true));
  }

  beforeAll(async () => {
    const model = llama(LLAMA);
    await savePretrained(model, base);
    model.dispose();
    for (const { row, column } of TRIED) {
      if (refusalOf({ row, column })) continue;
      const ways = [row, floatOf(row), withoutIt(row)];
      for (const way of ways) await trainAlone(way, 'plain');
      if (column === 'clipping') for (const way of ways) await trainAlone(way, column);
    }
    const module = new URL('./ranks/fewer-bits.ts', import.meta.url);
    const args: Args = { cells: ON_RANKS, folder, llama: base };
    const env = { OMP_NUM_THREADS: '1' };
    const ofRanks = await onRanks<(TrainedCell | Refused)[]>({
      ...{ module, ranks: 2, args, env },
      timeoutMs: 400_000,
    });
    ON_RANKS.forEach((cell, i) =>
      found.set(
        nameOf(cell),
        ofRanks.map((each) => each[i]!),
      ),
    );
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  it('the guide has the table', () => {
    expect(linesOfTable(readFileSync(GUIDE, 'utf8'), 'fewer bits')).toEqual(linesOfGuide());
  });

  it.each(named(ON_RANKS.filter(refusalOf)))('%s: every rank refuses it', (name, cell) => {
    const { code } = refusalOf(cell)!;
    for (const each of found.get(name)!) {
      expect(each).toMatchObject({ help: expect.stringMatching(/\w/) as unknown });
      // One stage of a pipeline finds the reason in a step, and the others name it.
      const { code: own, message } = each as Refused;
      expect(own === 'ACC_PIPELINE_FAILED' ? message : own).toContain(code);
    }
  });

  it.each(named(TRIED.filter(({ column }) => column === 'plain')))(
    '%s trains nearly as float32 does',
    (_, { row }) => {
      const [own, reference] = [aloneOf(row, 'plain'), aloneOf(floatOf(row), 'plain')];
      expectNear(own.losses, reference.losses, row === 'crossEntropy' ? 1e-5 : 0.1);
      if (row !== 'crossEntropy') expect(own.losses).not.toEqual(reference.losses);
      expect(new Set(own.losses).size).toBe(own.losses.length);
    },
  );

  describe.each(named(ON_RANKS.filter((cell) => !refusalOf(cell))))('%s', (name, { row, column }) => {
    it('trains as one process', () => {
      const expected = aloneOf(row, column);
      const [first, ...others] = found.get(name)! as TrainedCell[];
      expect(first).toHaveProperty('weights');
      for (const each of others) expect(each.weights).toEqual(first!.weights);
      const rtol = toleranceOf(row);
      if (column !== 'accumulation') expectNear(first!.losses, expected.losses, rtol);
      expect(Object.keys(first!.weights).sort()).toEqual(Object.keys(expected.weights).sort());
      for (const [weight, values] of Object.entries(expected.weights))
        expectNear(comparedOf(weight, first!.weights[weight]!), comparedOf(weight, values), rtol, 1);
      if (IN_8_BITS.includes(row)) expect(first!.products).toBeGreaterThan(0);
      else if (row !== 'crossEntropy') {
        const without = distance(aloneOf(withoutIt(row), column), expected);
        expect(distance(first!, expected)).toBeLessThan(without / 2);
      }
      if (column === 'compile') expect(first!.replays).toBeGreaterThan(0);
      if (column === 'clipping') expect(expected.weights).not.toEqual(aloneOf(row, 'plain').weights);
      if (column !== 'loaded') return;
      for (const each of [first!, ...others]) {
        expect(each.before).not.toEqual(each.after);
        for (const [weight, values] of Object.entries(each.after!))
          expect(values).toEqual(each.weights[weight]);
      }
    });
  });
}

const named = (cells: readonly Cell[]) => cells.map((cell) => [nameOf(cell), cell] as const);

/** The norm of the differences between weights that both have. */
function distance(a: TrainedCell, b: TrainedCell): number {
  const counted = Object.entries(a.weights).filter(([name]) => !name.endsWith('/input_range'));
  const squares = counted.flatMap(([name, values]) =>
    values.map((value, i) => (value - (b.weights[name]?.[i] ?? value)) ** 2),
  );
  return Math.sqrt(squares.reduce((sum, each) => sum + each, 0));
}

/** The range of inputs ends with the number of passes, which are micro-batches. */
const comparedOf = (weight: string, values: readonly number[]) =>
  weight.endsWith('/input_range') ? values.slice(0, 2) : values;
