import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { fileStorage, openCheckpoint } from '@acc/checkpoint';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Args, Outcome, Outcomes, State } from './ranks/by-name.js';

const SIZES = [1, 2, 3];
const LAYOUTS = ['replicated', 'sharded', 'flat', 'stages'];
/** Checkpoints in version 1 of the format, which an earlier version of this program wrote. */
const VERSION_1 = ['replicated-2-1', 'sharded-2-0'];

/** In `npm test`, a layout loads what every second other layout and number of ranks has saved. */
const isShort = !inject('isRelease');
let folder: string;
/** By the name of the checkpoint. */
const saved: Record<string, Outcome> = {};
/** By the size of the job that loaded it. */
const loaded: Record<number, Outcomes> = {};
/** By the size of the job: the error that all its ranks got. */
const refused: Record<number, Record<string, string>> = {};

async function job(ranks: number, action: 'save' | 'load'): Promise<Outcomes> {
  const module = new URL('./ranks/by-name.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const args: Args = { action, folder, isShort };
  const [first] = await onRanks<Outcomes>({ module, ranks, args, env });
  return first!;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-by-name-'));
  for (const size of SIZES) {
    const { refused: told, ...outcomes } = await job(size, 'save');
    refused[size] = told as Record<string, string>;
    for (const [name, byLayout] of Object.entries(outcomes)) {
      saved[name] = Object.values(byLayout)[0] as Outcome;
    }
  }
  for (const name of VERSION_1) {
    const from = new URL(`./version-1/${name}`, import.meta.url);
    await cp(from, join(folder, `version-1-${name}`), { recursive: true });
  }
  for (const size of SIZES) loaded[size] = await job(size, 'load');
}, 600_000);
afterAll(() => rm(folder, { recursive: true }));

/**
 * libtorch's kernels round the ends of a vector differently from its middle, and ranks have
 * different ends.
 */
function expectSame(some: State, others: State): void {
  for (const kind of ['weights', 'm', 'v'] as const) {
    expect(Object.keys(some[kind])).toEqual(Object.keys(others[kind]));
    for (const [name, values] of Object.entries(some[kind])) {
      expectClose(values, others[kind][name]!, { rtol: 1e-5, atol: 1e-7 });
    }
  }
}

/** Jobs of one kind can continue each other's open windows. */
function kindOf(layout: string, size: number): string {
  if (layout === 'stages' && size === 1) return 'replicated';
  // Reduced sums can be divided in any way. Other sums belong to their rank.
  return layout === 'replicated' || layout === 'flat' ? layout : `${layout}-${size}`;
}

const closed = SIZES.flatMap((size) =>
  LAYOUTS.map((layout) => ({ name: `${layout}-${size}-0`, layout, size })),
);
const loads = SIZES.flatMap((to) => LAYOUTS.map((into) => ({ to, into })));
/** See `loads` in the program. */
const loadsOf = ({ layout, size }: { readonly layout: string; readonly size: number }) =>
  loads.filter(
    ({ to, into }) =>
      !isShort ||
      (layout === into && size === to) ||
      (size + to + LAYOUTS.indexOf(layout) + LAYOUTS.indexOf(into)) % 2 === 1,
  );

it.each(closed)('$layout on $size ranks trains like one rank', ({ name }) => {
  expectSame(saved[name]!.at, saved['replicated-1-0']!.at);
  expectSame(saved[name]!.after, saved['replicated-1-0']!.after);
  expect(saved[name]!.after).not.toEqual(saved[name]!.at);
});

describe.each(closed)('a checkpoint of $layout on $size ranks', ({ name, size, layout }) => {
  it.each(loadsOf({ size, layout }))(
    'is loaded by name into $into on $to ranks, which continue',
    ({ to, into }) => {
      const outcome = loaded[to]![name]![into] as Outcome;
      expect(outcome.at).toEqual(saved[name]!.at);
      expectSame(outcome.after, saved[name]!.after);
    },
  );

  it.each(loadsOf({ size, layout }))(
    'inside a window is continued in $into on $to ranks, or is refused',
    ({ to, into }) => {
      const open = name.replace(/0$/, '1');
      const outcome = loaded[to]![open]![into]!;
      if (kindOf(layout, size) !== kindOf(into, to)) return expect(outcome).toBe('ACC_CHECKPOINT_MISMATCH');
      expectSame((outcome as Outcome).after, saved[open]!.after);
    },
  );

  it('contains each element once', async () => {
    const { index } = await openCheckpoint({ storage: fileStorage(join(folder, name)), prefix: '' });
    expect(index.version).toBe(2);
    expect(index.files.map((file) => file.name.split('.')[0])).toEqual(
      Array.from({ length: size }, (_, rank) => `rank-${rank}-of-${size}`),
    );
    const count = (sizes: readonly number[]) => sizes.reduce((product, length) => product * length, 1);
    for (const { shape, parts } of Object.values(index.tensors)) {
      expect(parts.reduce((sum, { sizes }) => sum + count(sizes), 0)).toBe(count(shape));
    }
    expect(index.tensors['parameters/a']!.shape).toEqual([3, 4]);
  });
});

describe.each(VERSION_1)('a checkpoint of %s in version 1 of the format', (name) => {
  it.each(loads)('is loaded into $into on $to ranks', ({ to, into }) => {
    const outcome = loaded[to]![`version-1-${name}`]![into]!;
    const isOpen = name.endsWith('1');
    if (isOpen && kindOf(into, to) !== 'replicated') return expect(outcome).toBe('ACC_CHECKPOINT_MISMATCH');
    expectSame((outcome as Outcome).at, saved[name]!.at);
    expectSame((outcome as Outcome).after, saved[name]!.after);
  });
});

describe.each([2, 3])('%i ranks get one error', (size) => {
  const others = Array.from({ length: size - 1 }, (_, i) => i + 1);

  it('if they save different tensors with one name', () => {
    const ranks = others.map((rank) => ({ name: 'parameters/x', ranks: [0, rank] }));
    expect(JSON.parse(refused[size]!.shapes!)).toEqual({ code: 'ACC_STATE_INVALID', tensors: ranks });
  });

  it('if they save different optimizers', () => {
    const optimizers = ['Adam (m, v)', ...others.map(() => 'Momentum (momentum)')];
    expect(JSON.parse(refused[size]!.optimizers!)).toEqual({ code: 'ACC_STATE_INVALID', optimizers });
  });

  it('that lists missing, additional and differently shaped tensors', () => {
    expect(JSON.parse(refused[size]!.names!)).toEqual({
      code: 'ACC_CHECKPOINT_MISMATCH',
      missing: [{ name: 'extra', ranks: others }],
      surplus: ['c', 'rows', 'columns', 'few', 'everywhere'],
      misshapen: [{ name: 'a', stored: [3, 4], here: [5], ranks: [0] }],
    });
  });
});

it('every checkpoint was loaded', async () => {
  const names = await readdir(folder);
  expect(names).toHaveLength(2 * closed.length + VERSION_1.length);
  for (const size of SIZES) expect(Object.keys(loaded[size]!).sort()).toEqual(names.sort());
});
