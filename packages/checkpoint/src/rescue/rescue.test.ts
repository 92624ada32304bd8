import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { TensorShard } from '@acc/contract';
import { readTensors } from '../read/read-tensors.js';
import { error, layer, oneRank } from '../testing/saves.js';
import { dropRescues, findRescue } from './find-rescue.js';
import { RunSnapshot } from './run-snapshot.js';
import { rescueMemory } from './memory.js';
import { receiveRescue } from './receive-rescue.js';
import { isFirstRefusal, writeRescue, type WrittenRescue } from './write-rescue.js';

let folder: string;
beforeEach(async () => {
  await tf.setBackend('cpu');
  folder = mkdtempSync(join(tmpdir(), 'acc-rescue-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
const host = () => ({ folder, isSpeaker: true });

interface Kept {
  readonly rank: number;
  readonly step: number;
  readonly round?: number;
  readonly values: readonly number[];
  /** The shard of `w`, which has four elements. Default: all. */
  readonly begin?: number;
}

/** Keeps `w` of a rank, which changes after it is held. */
function keep({ rank, step, round = 0, values, begin }: Kept): WrittenRescue {
  const w = tf.variable(tf.tensor1d([...values]));
  const sizes = [values.length];
  const shards: TensorShard[] | undefined =
    begin === undefined ? undefined : [{ shape: [4], offset: [begin], sizes, start: 0 }];
  const info = { step, epoch: 2, savedAt: new Date(0).toISOString(), metrics: {} };
  const tensors = [{ name: 'parameters/w', tensor: w, shards }];
  const held = new RunSnapshot({ info, shared: { step }, local: { rank }, tensors }, rank, layer());
  w.assign(tf.zerosLike(w));
  const isReplicated = begin === undefined;
  try {
    return writeRescue(held, { folder, round, rank, isReplicated, parameters: ['parameters/w'] });
  } finally {
    held.release();
    w.dispose();
  }
}

async function read(): Promise<number[]> {
  const { newest } = findRescue(oneRank, host());
  const checkpoint = await receiveRescue(newest!, host(), oneRank);
  const [w] = await readTensors(checkpoint, [{ name: 'parameters/w' }], layer());
  return Array.from(w!.toTensor().dataSync());
}

it('takes the newest step; of ranks with the same parameters one writes them', async () => {
  expect(keep({ rank: 0, step: 7, values: [1, 2, 3, 4] }).isAll).toBe(true);
  expect(keep({ rank: 1, step: 8, values: [5, 6, 7, 8] }).isAll).toBe(true);
  expect(keep({ rank: 2, step: 8, values: [5, 6, 7, 8] }).isAll).toBe(false);
  const { newest, problem } = findRescue(oneRank, host());
  expect(problem).toBeUndefined();
  expect(newest).toMatchObject({ step: 8, epoch: 2, records: [{ rank: 1 }, { rank: 2 }] });
  expect(await read()).toEqual([5, 6, 7, 8]);
  const { index, location } = await receiveRescue(newest!, host(), oneRank);
  // Its files are not mapped, because a mapped file keeps its memory after it was deleted.
  expect(location.storage.pathOf).toBeUndefined();
  expect(index).toMatchObject({ worldSize: 2, step: 8 });
});

it('puts shards of one step together, and never those of two', async () => {
  keep({ rank: 0, step: 3, values: [1, 2], begin: 0 });
  keep({ rank: 2, step: 3, values: [3, 4], begin: 2 });
  // Another group of ranks has the same shards.
  keep({ rank: 3, step: 3, values: [3, 4], begin: 2 });
  expect(await read()).toEqual([1, 2, 3, 4]);
  keep({ rank: 0, step: 5, values: [9, 9], begin: 0, round: 1 });
  keep({ rank: 2, step: 6, values: [8, 8], begin: 2, round: 1 });
  const { newest, problem } = findRescue(oneRank, host());
  expect(newest).toMatchObject({ step: 3 });
  expect(problem).toContain("step 6 is not complete in the memory of the hosts: elements of 'parameters/w'");
  expect(await read()).toEqual([1, 2, 3, 4]);
});

it('does not use what a rank could not write completely, or what is damaged', async () => {
  keep({ rank: 0, step: 4, values: [1, 2, 3, 4] });
  writeFileSync(join(folder, '1-1.safetensors.unfinished'), 'torn');
  const record = join(folder, '0-0.json');
  const full = readFileSync(record);
  truncateSync(record, full.length - 2);
  expect(findRescue(oneRank, host())).toEqual({ newest: undefined, problem: undefined });
  writeFileSync(record, full);
  const tensors = join(folder, '0-0.safetensors');
  const bytes = readFileSync(tensors);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(tensors, bytes);
  await expect(read()).rejects.toThrowError(error('ACC_CHECKPOINT_CORRUPT'));
});

it('deletes what earlier rounds kept', () => {
  keep({ rank: 0, step: 1, values: [1, 2, 3, 4] });
  keep({ rank: 0, step: 2, values: [1, 2, 3, 4], round: 1 });
  writeFileSync(join(folder, 'ending-rescue'), '');
  dropRescues(folder, 1);
  const left = readdirSync(folder).sort();
  expect(left).toEqual(['1-0.json', '1-0.safetensors', '1-step-2.claim', 'ending-rescue']);
});

it('tells the ranks of a host that their memory does not suffice, and one of them to report it', () => {
  const held = new RunSnapshot(
    {
      info: { step: 1, epoch: 0, savedAt: new Date(0).toISOString(), metrics: {} },
      shared: { step: 1 },
      local: { own: tf.tensor1d([1, 2, 3]) },
      tensors: [{ name: 'parameters/w', tensor: tf.zeros([100]) }],
    },
    0,
    layer(),
  );
  const needed = (isReplicated: boolean) =>
    rescueMemory(held, { folder, ranks: 4, isReplicated }).neededBytes;
  expect([needed(true), needed(false)]).toEqual([400 + 4 * 12, 4 * (400 + 12)]);
  expect(rescueMemory(held, { folder, ranks: 1, isReplicated: true }).freeBytes).toBeGreaterThan(0);
  held.release();
  expect([1, 1, 2].map((round) => isFirstRefusal(folder, round))).toEqual([true, false, true]);
  dropRescues(folder, 2);
  expect(readdirSync(folder)).toEqual(['2-refusal.claim']);
});

it('leaves the claim to another rank of the host if it cannot write', () => {
  // A folder is in the place of its file.
  mkdirSync(join(folder, '0-0.safetensors.unfinished'));
  expect(() => keep({ rank: 0, step: 1, values: [1, 2, 3, 4] })).toThrowError(error('EISDIR'));
  expect(keep({ rank: 1, step: 1, values: [1, 2, 3, 4] }).isAll).toBe(true);
});
