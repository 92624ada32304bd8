import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/shm.ts', import.meta.url);
const env = { OMP_NUM_THREADS: '1' };

interface Failure {
  code: string;
  message: string;
  ms: number;
}

async function failuresOf(what: string): Promise<Failure[]> {
  const results = await runRanks<Failure>({ script, ranks: 3, args: [what], env });
  return [results[0]!, results[2]!].map(({ result, stderr }) => {
    expect(result, stderr).toBeDefined();
    return result!;
  });
}

describe('shared memory', () => {
  it('names a rank that was killed, within seconds', async () => {
    for (const { code, message, ms } of await failuresOf('kill')) {
      expect(code).toBe('ACC_PEER_LOST');
      expect(message).toMatch(
        /^allReduce\(float32\[1000000\], 'sum'\), call \d+: rank 1 \(process \d+\) has died\./,
      );
      expect(ms).toBeLessThan(60_000);
    }
  });

  it('names a rank that is stopped', async () => {
    for (const { code, message } of await failuresOf('stop')) {
      expect(code).toBe('ACC_COLLECTIVE_TIMEOUT');
      expect(message).toContain('rank 1');
    }
  });

  it('names a rank that has left', async () => {
    for (const { code, message } of await failuresOf('leave')) {
      expect(code).toBe('ACC_PEER_LOST');
      expect(message).toContain('rank 1 has left the group');
    }
  });

  it.each([
    ['has died', 'ask-dead', 'ACC_PEER_LOST'],
    ['sends nothing', 'ask-idle', 'ACC_COLLECTIVE_TIMEOUT'],
  ])(
    'reports that a message is done if its sender %s, and waiting for it names the rank',
    async (_, what, code) => {
      for (const failure of await failuresOf(what)) {
        expect(failure.code, failure.message).toBe(code);
        expect(failure.message).toContain('rank 1');
        expect(failure.ms).toBeLessThan(60_000);
      }
    },
  );

  it('leaves nothing behind if all ranks are killed', async () => {
    // Other programs have files there, too, and so have the launchers of other tests.
    const filesOfRanks = () => readdirSync('/dev/shm').filter((name) => /acc(?!-rescue-)/.test(name));
    const before = filesOfRanks();
    const results = await runRanks({ script, ranks: 3, args: ['killAll'], env });
    for (const { signal } of results) expect(signal).toBe('SIGKILL');
    expect(filesOfRanks()).toEqual(before);
  });

  it('lets a process end that did not wait for a handle', async () => {
    const results = await runRanks({ script, ranks: 2, args: ['forgotten'], env });
    for (const { exitCode, result, stderr } of results)
      expect([exitCode, result], stderr).toEqual([0, 'ended']);
  });

  it('makes progress while a rank only asks whether a call is done', async () => {
    const results = await runRanks({ script, ranks: 2, args: ['asked'], env });
    for (const { result, stderr } of results) expect(result, stderr).toBe('done');
  });

  it('makes progress while one rank computes and another waits', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-shm-'));
    const args = ['busy', join(folder, 'has-come')];
    const results = await runRanks({ script, ranks: 2, args, env });
    rmSync(folder, { recursive: true });
    for (const { result, stderr } of results) expect(result, stderr).toBe('done');
  });

  it.each([
    { ranks: 4, policy: 'active', why: 'ranks of other groups need the cores' },
    { ranks: 2, policy: 'passive', why: 'OMP_WAIT_POLICY is passive' },
  ])('sleeps while it waits if $why', async ({ ranks, policy }) => {
    const given = { ...env, OMP_WAIT_POLICY: policy };
    const sleeps = new URL('./ranks/shm-sleeps.ts', import.meta.url);
    const [first] = await runRanks<number>({ script: sleeps, ranks, env: given });
    // The part of a core that the rank took during 200 waits. Other processes can only make it smaller.
    expect(first!.result, first!.stderr).toBeLessThan(0.5);
  });

  it('adds 16-bit floats in float32', async () => {
    const results = await runRanks({ script, ranks: 3, args: ['precision'], env });
    for (const { result, stderr } of results) expect(result, stderr).toEqual([258, 2050]);
  });
});
