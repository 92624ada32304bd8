import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { resultsOfRanks, runRanks } from './run-ranks.js';

const fixture = (name: string): URL => new URL(`../fixtures/${name}`, import.meta.url);

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-testkit-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** True while the process exists and is no zombie. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/**
 * The process ids that both ranks of `hang-with-pids.ts` have written; undefined as long as one is
 * missing.
 */
function pidsIn(folder: string): number[] | undefined {
  try {
    const texts = [0, 1].map((rank) => readFileSync(join(folder, `rank${rank}.json`), 'utf8'));
    return texts.flatMap((text) => JSON.parse(text) as number[]);
  } catch {
    return undefined;
  }
}

describe('resultsOfRanks', () => {
  it('returns the results of ranks that succeed, and refuses ranks that fail or report nothing', async () => {
    const script = fixture('reports-or-fails.ts');
    expect(await resultsOfRanks({ script, ranks: 2, args: ['reports'] })).toEqual([0, 1]);
    const failed = expect.objectContaining({ code: 'ACC_RANK_FAILED' }) as Error;
    await expect(resultsOfRanks({ script, ranks: 1, args: ['says nothing'] })).rejects.toEqual(failed);
    await expect(resultsOfRanks({ script, ranks: 2, args: ['fails'] })).rejects.toThrow('rank 1 is unwell');
  });
});

describe('runRanks', () => {
  it("sets torchrun's variables for a TypeScript script and returns its results", async () => {
    const script = fixture('report-environment.ts');
    const ranks = await runRanks({ script, ranks: 2, args: ['--lr', '0.1'], env: { EXTRA: 'yes' } });
    expect(ranks.map(({ rank, exitCode, signal }) => [rank, exitCode, signal])).toEqual([
      [0, 0, null],
      [1, 0, null],
    ]);
    for (const { rank, stdout, stderr, result } of ranks) {
      expect(stdout).toContain('printed\n');
      expect(stderr).toBe('warned\n');
      expect(result).toMatchObject({
        environment: {
          RANK: String(rank),
          LOCAL_RANK: String(rank),
          WORLD_SIZE: '2',
          LOCAL_WORLD_SIZE: '2',
          MASTER_ADDR: '127.0.0.1',
          MASTER_PORT: expect.stringMatching(/^\d+$/),
          EXTRA: 'yes',
        },
        args: ['--lr', '0.1'],
        values: new Float32Array([0.1, NaN]),
      });
    }
  });

  it('kills the process groups of ranks that take too long, and shows what each printed', async () => {
    const pids = join(folder, 'pids.json');
    const script = fixture('one-fails-one-hangs.mjs');
    await expect(runRanks({ script, ranks: 2, args: [pids], timeoutMs: 8_000 })).rejects.toMatchObject({
      code: 'ACC_RANKS_TIMEOUT',
      details: { results: [{ exitCode: 3 }, { exitCode: null, signal: 'SIGKILL' }] },
    });
    const started = JSON.parse(readFileSync(pids, 'utf8')) as number[];
    expect(started).toHaveLength(2);
    await vi.waitUntil(() => !started.some(isRunning), { timeout: 240_000 });
  });

  it.each(['caller', 'parent'])('leaves no process behind if its %s is killed', async (who) => {
    const options = ['--conditions=@acc/source', '--import', createRequire(import.meta.url).resolve('tsx')];
    const caller = fork(fixture('run-and-wait.ts'), [folder], { execArgv: options });
    onTestFinished(() => void caller.kill('SIGKILL'));
    const started = await vi.waitUntil(() => pidsIn(folder), { timeout: 240_000 });
    expect(started.every(isRunning)).toBe(true);
    // A parent's end closes the channel.
    if (who === 'caller') caller.kill('SIGKILL');
    else caller.disconnect();
    await vi.waitUntil(() => !started.some(isRunning), { timeout: 240_000 });
  });

  it('refuses a wrong number of ranks and unknown options', async () => {
    await expect(runRanks({ script: 'x.mjs', ranks: 0 })).rejects.toMatchObject({ code: 'ACC_BAD_OPTION' });
    await expect(runRanks({ script: 'x.mjs', ranks: 1, rank: 1 } as never)).rejects.toMatchObject({
      code: 'ACC_UNKNOWN_OPTION',
    });
  });
});
