import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';
import { patienceVariables } from '../patience.js';

const script = new URL('./ranks/faults.ts', import.meta.url);

interface Fault {
  readonly code: string;
  readonly message: string;
  readonly ms: number;
}

type Faults = Record<string, Fault>;

/**
 * The errors of three ranks, by rank and by what rank 1 does. The faults happen one after another.
 */
async function launch(
  engine: string,
  whats: readonly string[],
  patience: Readonly<Record<string, string>> = {},
): Promise<(Faults | undefined)[]> {
  const folder = mkdtempSync(join(tmpdir(), 'acc-faults-'));
  const env = { OMP_NUM_THREADS: '1', ...patience };
  const args = [engine, folder, ...whats];
  const results = await runRanks<Faults>({ script, ranks: 3, args, env });
  rmSync(folder, { recursive: true });
  return results.map(({ result, stderr, rank }) => {
    if (rank !== 1) expect(Object.keys(result ?? {}), stderr).toEqual(whats);
    return result;
  });
}

async function faultsOf(engine: string, what: string): Promise<(Fault | undefined)[]> {
  const patience = what === 'idles' ? {} : patienceVariables('graceMs');
  return (await launch(engine, [what], patience)).map((faults) => faults?.[what]);
}

const DIFFERENT_CALLS = ['fewer', 'fewer-slow', 'order'];
let overShm: Promise<(Faults | undefined)[]> | undefined;

/** Different calls. A group over shared memory survives them, so one launch is enough. */
async function mismatchesOf(engine: string, what: string): Promise<Fault[]> {
  // The rank that comes late must not lose the others.
  const patience = what === 'fewer-slow' ? {} : patienceVariables('noticeMs');
  if (engine === 'shm') overShm ??= launch(engine, DIFFERENT_CALLS);
  const ranks = engine === 'shm' ? await overShm! : await launch(engine, [what], patience);
  return ranks.map((faults) => faults![what]!);
}

describe.each(['shm', 'gloo'])('over %s', (engine) => {
  it.each([
    ['', 'fewer'],
    [' when one of them comes late', 'fewer-slow'],
  ])('ranks with different numbers of backward passes are named on every rank%s', async (_, what) => {
    for (const fault of await mismatchesOf(engine, what)) {
      expect(fault.code, fault.message).toBe('ACC_COLLECTIVE_MISMATCH');
      expect(fault.message).toMatch(/^ {2}rank 0: allReduce\(float32/m);
      expect(fault.message).toMatch(/^ {2}rank 1: barrier\(\)/m);
      expect(fault.message).toMatch(/^ {2}rank 2: allReduce\(float32/m);
      expect(fault.ms).toBeLessThan(60_000);
    }
  });

  it('ranks that train models in different orders are named on every rank', async () => {
    for (const fault of await mismatchesOf(engine, 'order')) {
      expect(fault.code, fault.message).toBe('ACC_COLLECTIVE_MISMATCH');
      expect(fault.message.match(/^ {2}rank \d: allReduce\(float32\[\d+\]/gm)).toHaveLength(3);
    }
  });

  it.each(['throws', 'ends'])('a rank that %s is named', async (what) => {
    const [first, , last] = await faultsOf(engine, what);
    for (const fault of [first!, last!]) {
      expect(fault.code, fault.message).toBe('ACC_PEER_LOST');
      expect(fault.message).toMatch(/call \d+: rank 1\b/);
      expect(fault.message).toMatch(/faults\.ts:\d+:\d+/);
      expect(fault.ms).toBeLessThan(60_000);
    }
  });

  it('a rank that computes for too long is named after the time-out, with its last call', async () => {
    const [first, , last] = await faultsOf(engine, 'idles');
    for (const fault of [first!, last!]) {
      expect(fault.code, fault.message).toBe('ACC_COLLECTIVE_TIMEOUT');
      expect(fault.message).toMatch(/call \d+: rank 1 did not come/);
      expect(fault.message).toMatch(
        /rank 1 \(process \d+ on \S+\): not in a collective since call \d+, allReduce/,
      );
    }
  });
});
