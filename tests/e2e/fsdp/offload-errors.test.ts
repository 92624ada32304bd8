import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runRanks, type RankResult } from '@acc/testkit';
import type { Result } from './ranks/offload-errors.js';

const ENDS = ['full', 'truncated'] as const;
const folders = new Map<string, string>();
const results = new Map<string, RankResult<Result>[]>();

beforeAll(async () => {
  const script = new URL('./ranks/offload-errors.ts', import.meta.url);
  for (const end of ENDS) {
    const folder = mkdtempSync(join(tmpdir(), 'acc-offload-'));
    folders.set(end, folder);
    const file = join(folder, 'notes.txt');
    writeFileSync(file, 'of the user');
    mkdirSync(join(folder, 'full'));
    // A disk with room for the first parameters. Mounting needs root.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'acc-test', join(folder, 'full')]);
    const ended = await runRanks<Result>({
      script,
      ranks: 2,
      args: [folder, file, end],
      env: { OMP_NUM_THREADS: '1' },
    });
    results.set(end, ended);
    for (const { result, stderr } of ended) expect(result, stderr).toBeDefined();
  }
});

afterAll(() => {
  for (const folder of folders.values()) {
    execFileSync('umount', [join(folder, 'full')]);
    rmSync(folder, { recursive: true });
  }
});

describe.each(ENDS)('offload to a folder, %s', (end) => {
  it('refuses what cannot be, on every rank', () => {
    for (const { result } of results.get(end)!) {
      const { codes, messages } = result!;
      expect(codes).toMatchObject({
        'a folder of rank 1': 'ACC_STORAGE_DENIED',
        'a relative folder of rank 1, which is nowhere': 'ACC_STORAGE_FAILED',
        'offload of rank 1': 'ACC_OPTIONS_DIFFER',
        'another backend': 'ACC_STRATEGY_CANNOT',
        'an optimizer of the program': 'ACC_STRATEGY_CANNOT',
        'state after freeMemory': 'ACC_SHARD_FREED',
        'lost state, with offload': 'ACC_SHARD_FREED',
        'lost state, without offload': 'ACC_SHARD_FREED',
      });
      expect(messages['lost state, without offload']).toContain('The state of this Adam');
      expect(messages['a folder of rank 1']).toMatch(/rank 1: .*notes\.txt/);
    }
  });

  it('says once that memory of the host is host memory already', () => {
    const said = results.get(end)!.map(({ stderr }) => stderr.match(/in host memory already/g)?.length ?? 0);
    expect(said).toEqual([1, 0]);
  });

  it('goes on with a file that somebody has deleted', () => {
    for (const { result } of results.get(end)!) expect(result!.deleted[1]).toEqual(result!.deleted[0]);
  });

  it('ends with the file and a code, and the other rank ends too', () => {
    const [first, second] = results.get(end)!;
    expect(first!.result!.codes['the end']).toBe(end === 'full' ? 'ACC_STORAGE_FULL' : 'ACC_OFFLOAD_DAMAGED');
    expect(first!.result!.messages['the end']).toContain(folders.get(end));
    expect(second!.result!.codes['the end']).toBe('ACC_PEER_LOST');
    expect([first!.exitCode, second!.exitCode]).toEqual([1, 1]);
  });

  it('leaves no file', () => {
    const folder = folders.get(end)!;
    expect(readdirSync(folder).toSorted()).toEqual(['full', 'notes.txt']);
    expect(readdirSync(join(folder, 'full'))).toEqual([]);
  });
});
