import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

const ACC = fileURLToPath(new URL('../../../packages/cli/bin/acc.js', import.meta.url));
const SCRIPT = fileURLToPath(new URL('./ranks/preempted.ts', import.meta.url));
const SAVED = 75;

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'acc-preempted-'))));
afterAll(() => rm(folder, { recursive: true }));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The signal to send, and its receiver, after the job has reached a step. */
interface Strike {
  readonly atStep: number;
  readonly signal: NodeJS.Signals;
  readonly at: 'rank' | 'launcher';
}

/** Runs a job. Each strike hits it once, in the order of the list. */
async function launch(
  loop: string,
  name: string,
  { ranks = 2, restarts = 3, strikes = [] as readonly Strike[], presses = 1 } = {},
): Promise<Ended> {
  const args = ['launch', '-n', String(ranks), '--threads', '1', '--max-restarts', String(restarts)];
  const child = spawn(process.execPath, [ACC, ...args, SCRIPT, loop, join(folder, name)], {
    stdio: 'pipe',
    env: { ...process.env, NO_COLOR: '1' },
  });
  let [stdout, stderr] = ['', ''];
  const left = [...strikes];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const [, pid, step] of text.matchAll(/pid (\d+) step (\d+)/g))
      strike(child, left, Number(pid), Number(step));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    if (presses === 2 && text.includes('received Ctrl-C')) {
      const pid = Number(/pid (\d+)/.exec(stdout)![1]);
      // Not the same key press any more.
      void sleep(400).then(() => process.kill(pid, 'SIGINT'));
    }
  });
  const [code] = (await once(child, 'close')) as [number | null];
  expect(left, stderr).toEqual([]);
  return { code, stdout, stderr };
}

function strike(launcher: ChildProcess, left: Strike[], pid: number, step: number): void {
  const [next] = left;
  if (!next || step < next.atStep) return;
  left.shift();
  if (next.at === 'launcher') launcher.kill(next.signal);
  else process.kill(pid, next.signal);
}

/** The final weights that a job printed. */
function weightsOf({ code, stdout, stderr }: Ended): string {
  expect(code, stderr).toBe(0);
  return /ended (.*)/.exec(stdout)![1]!;
}

const wholes = new Map<string, Promise<string>>();
/** The final weights of a job that nothing interrupts. */
function undisturbed(loop: string, ranks: number): Promise<string> {
  const name = `${loop} on ${ranks}`;
  const known = wholes.get(name) ?? launch(loop, name, { ranks }).then(weightsOf);
  wholes.set(name, known);
  return known;
}

const between = (low: number, high: number) => low + Math.floor(Math.random() * (high - low));

describe.each(['custom', 'fit', 'self-fed'])('by %s', (loop) => {
  it('a job that is stopped at random steps and restarted ends with the same weights', async () => {
    const strikes: Strike[] = [
      { atStep: between(2, 9), signal: 'SIGTERM', at: 'rank' },
      { atStep: between(20, 27), signal: 'SIGKILL', at: 'rank' },
      { atStep: between(38, 45), signal: 'SIGUSR1', at: 'rank' },
    ];
    // The launcher does not know how a program trains. One loop is struck by every signal.
    if (loop !== 'custom' && !inject('isRelease')) strikes.splice(1);
    const count = strikes.length;
    const saves = strikes.filter(({ signal }) => signal !== 'SIGKILL').length;
    const ended = await launch(loop, `${loop} killed`, { strikes });
    expect(ended.stderr.match(/restart \d of 3/g)).toHaveLength(count);
    expect(ended.stderr.match(/^\[\d\] acc: the checkpoint was saved to /gm)).toHaveLength(saves);
    expect(weightsOf(ended)).toBe(await undisturbed(loop, 2));
  });
});

describe('if the whole job should end', () => {
  it.each([
    ['SIGTERM', 1],
    ['SIGINT', 2],
    ['SIGUSR1', 2],
  ] as const)(
    '%s to the launcher makes %i ranks save, and does not cause a restart',
    async (signal, ranks) => {
      const name = `${signal} ${ranks}`;
      const strikes: Strike[] = [{ atStep: between(3, 12), signal, at: 'launcher' }];
      const first = await launch('custom', name, { ranks, strikes });
      expect(first.code, first.stderr).toBe(SAVED);
      expect(first.stderr).not.toContain('restart 1');
      const [, path] = /acc: the checkpoint was saved to (.+)\. To continue, run the same command/.exec(
        first.stderr,
      )!;
      expect(await readdir(path!)).toContain('checkpoint.json');
      const second = await launch('custom', name, { ranks, restarts: 0 });
      expect(weightsOf(second)).toBe(await undisturbed('custom', ranks));
      expect(second.stdout).not.toContain('step 1\n');
    },
  );

  it('a second Ctrl-C ends a rank at once that does not reach the end of its step', async () => {
    const strikes: Strike[] = [{ atStep: 3, signal: 'SIGINT', at: 'rank' }];
    const ended = await launch('stuck', 'stuck', { ranks: 1, restarts: 0, strikes, presses: 2 });
    expect(ended).toMatchObject({ code: 130, stderr: expect.not.stringContaining('was saved') as string });
    expect(ended.stdout).toMatch(/step 3\n$/);
  });
});
