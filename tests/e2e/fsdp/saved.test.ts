import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { mergeWeights } from '@acc/checkpoint';
import { expectClose } from '@acc/testkit';
import { onlyInRelease } from '../../only-in-release.js';
import { onRanks } from '../on-ranks.js';
import type { Args, Loaded, Saved, Way } from './ranks/saved.js';

const module = new URL('./ranks/saved.ts', import.meta.url);
const acc = fileURLToPath(new URL('../../../packages/cli/bin/acc.js', import.meta.url));
const SIZES = [1, 2, 3];
const WAYS: readonly Way[] = ['ddp', 'stage1', 'stage2', 'stage3'];
const CLOSE = { rtol: 1e-5, atol: 1e-6 };
/** The sizes of the tensors that the program of the ranks saves. */
const MANY = { bytes: 8_000_000, largest: 400_000 };
const LARGE = { bytes: 160_000_000, tensors: 40, largest: 4_000_000 };
/** The memory that the README of the command states, beside the largest tensor. */
const MERGE_BUFFERS = 64_000_000;
/** In `npm test`, jobs load what other numbers of ranks have saved. */
const isShort = !inject('isRelease');
const saved = new Map<number, Saved[]>();
const loaded = new Map<number, Loaded[]>();
const folder = mkdtempSync(join(tmpdir(), 'acc-fsdp-'));

function run<T>(ranks: number, phase: 'save' | 'load'): Promise<T[]> {
  const env = { OMP_NUM_THREADS: '1' };
  const args: Args = { phase, folder, packed: Object.keys(PACKED_BYTES), isShort };
  return onRanks<T>({ module, ranks, args, env });
}

beforeAll(async () => {
  for (const ranks of SIZES) saved.set(ranks, await run<Saved>(ranks, 'save'));
  for (const ranks of SIZES) loaded.set(ranks, await run<Loaded>(ranks, 'load'));
}, 680_000);

afterAll(() => rmSync(folder, { recursive: true }));

/** The float32 tensors of a safetensors file, by name. */
function tensorsIn(path: string): Record<string, Float32Array> {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, start)) as Record<string, { data_offsets: number[] }>;
  const tensors = Object.entries(header).filter(([name]) => name !== '__metadata__');
  return Object.fromEntries(
    tensors.map(
      ([
        name,
        {
          data_offsets: [begin, end],
        },
      ]) => {
        const bytes = new Uint8Array(file.subarray(start + begin!, start + end!));
        return [name, new Float32Array(bytes.buffer)];
      },
    ),
  );
}

describe.each(SIZES)('of a save on %i ranks', (ranks) => {
  it.each(WAYS)('every rank has the whole state dict: %s', (way) => {
    for (const { stateDicts, trained } of saved.get(ranks)!) {
      expect(Object.keys(stateDicts[way])).toEqual(['weight0', 'weight1', 'weight2', 'weight3']);
      expect(Object.values(stateDicts[way]).flat()).toEqual(trained[way].saved);
    }
  });

  it.each(WAYS)('merged weights are those of the state dict: %s', async (way) => {
    const merged = join(folder, 'merged', `${ranks}-${way}`);
    await mergeWeights(join(folder, 'runs', `${ranks}-adam-${way}`), merged);
    const found = Object.entries(tensorsIn(join(merged, 'model.safetensors')));
    const listed = Object.fromEntries(found.map(([name, values]) => [name, [...values]]));
    expect(listed).toEqual(saved.get(ranks)![0]!.stateDicts[way]);
  });

  it.each(WAYS)('each call keeps within its bound of memory: %s', (way) => {
    const { bytes, largest } = MANY;
    const { saveModel, loadModel, saveState, getStateDict, loadState } = saved.get(ranks)![0]!.memory[way];
    // A whole tensor, and a part of it from another rank.
    expect(saveModel).toBeLessThanOrEqual(2 * largest);
    if (ranks > 1 && way !== 'ddp') expect(saveModel).toBeGreaterThan(largest);
    expect(loadModel).toBeLessThanOrEqual(2 * largest);
    expect(saveState).toBeLessThanOrEqual(largest);
    // The result is the whole model.
    expect(getStateDict).toBeLessThanOrEqual(bytes + 2 * largest);
    // Everything that a rank holds is read before anything changes.
    expect(loadState).toBeLessThanOrEqual(bytes / (way === 'ddp' ? 1 : ranks) + largest);
  });
});

const saves = [
  ...SIZES.flatMap((size) => WAYS.map((from) => ({ kind: 'adam', size, from }))),
  ...WAYS.map((from) => ({ kind: 'adafactor', size: 2, from })),
];
const pairs = saves.flatMap((one) =>
  SIZES.filter((to) => !isShort || to !== one.size).map((to) => ({ ...one, to })),
);

it.each(pairs)(
  'what $size ranks save under $from goes on as if not interrupted on $to ranks: $kind',
  ({ kind, size, from, to }) => {
    const { trained: ofAdam, adafactor } = saved.get(size)![0]!;
    const uninterrupted = (kind === 'adam' ? ofAdam : adafactor)[from];
    const name = `${size}-${kind}-${from}`;
    // See `waysThatLoad` in the program.
    const first = (size + to + WAYS.indexOf(from)) % 2;
    const ways = WAYS.filter((_, i) => i % 2 === first);
    for (const { trained, models } of loaded.get(to)!) {
      expect(Object.keys(trained[name]!)).toEqual(ways);
      for (const way of ways) {
        const found = trained[name]![way]!;
        expect(found.saved, way).toEqual(uninterrupted.saved);
        expectClose(found.last, uninterrupted.last, CLOSE);
        expect(models[name]![way], way).toEqual(uninterrupted.saved);
        expect(found.last).not.toEqual(found.saved);
      }
    }
  },
);

/** Elements of the weights with packed state. */
const PACKED_ELEMENTS = 64 * 64 + 131 * 37 + 4999;

/** With 8 and 4 bits: what a moment takes, with the scales of blocks. */
const PACKED_BYTES: Readonly<Record<string, number>> = {
  adamw8: (2 * 260) / 256,
  sgdw4: 68 / 128,
  ...onlyInRelease({ adamw4: (2 * 68) / 128, lion8: 260 / 256 }),
};

describe.each(Object.keys(PACKED_BYTES))('packed state of %s', (kind) => {
  it('gives the same bits on any number of ranks, under ddp and each stage', () => {
    const all = SIZES.flatMap((size) => saved.get(size)!.map(({ packed }) => packed[kind]!));
    const found = all.flatMap((byWay) => WAYS.map((way) => byWay[way].last));
    expect(new Set(found).size).toBe(1);
    expect(found).toHaveLength((1 + 2 + 3) * WAYS.length);
  });

  it('goes on as if not interrupted, on any number of ranks and by another way', () => {
    const expected = saved.get(1)![0]!.packed[kind]!.ddp.last;
    for (const size of SIZES) {
      for (const { packed } of loaded.get(size)!) {
        const found = Object.keys(packed).filter((name) => name.includes(`-${kind}-`));
        expect(found).toHaveLength(SIZES.length * WAYS.length);
        for (const name of found) expect(packed[name], name).toBe(expected);
      }
    }
  });

  it('is saved packed', () => {
    // Beside the weights: indexes, and the last blocks of weights, which are as long as the others.
    const most = PACKED_ELEMENTS * (4 + PACKED_BYTES[kind]!) + 20_000;
    for (const way of WAYS) {
      expect(saved.get(2)![0]!.packed[kind]![way].fileBytes).toBeLessThan(most);
    }
  });
});

/** The most resident memory of `acc merge-weights`, in bytes, as the kernel counts it. */
async function residentOfMerge(from: string, to: string): Promise<number> {
  const status = `${to}.status`;
  const note = `import { readFileSync, writeFileSync } from 'node:fs';
    process.on('exit', () => writeFileSync(${JSON.stringify(status)}, readFileSync('/proc/self/status')));`;
  const args = [
    '--import',
    `data:text/javascript,${encodeURIComponent(note)}`,
    acc,
    'merge-weights',
    from,
    to,
  ];
  await promisify(execFile)(process.execPath, args);
  return 1024 * Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(status, 'utf8'))![1]);
}

it.runIf(process.platform === 'linux')('acc merge-weights needs memory for the largest tensor', async () => {
  const small = await residentOfMerge(join(folder, 'runs', '2-adam-stage3'), join(folder, 'merged-small'));
  const large = await residentOfMerge(join(folder, 'large'), join(folder, 'merged-large'));
  expect(LARGE.bytes).toBeGreaterThan(2 * (LARGE.largest + MERGE_BUFFERS));
  expect(large - small).toBeLessThan(LARGE.largest + MERGE_BUFFERS);
  const merged = tensorsIn(join(folder, 'merged-large', 'model.safetensors'));
  const range = Float32Array.from({ length: LARGE.largest / 4 }, (_, i) => i);
  expect(Object.keys(merged)).toHaveLength(LARGE.tensors);
  for (let i = 0; i < LARGE.tensors; i++) {
    const expected = range.map((value) => value + i);
    expect(Buffer.compare(Buffer.from(merged[`matrix${i}`]!.buffer), Buffer.from(expected.buffer))).toBe(0);
  }
});
