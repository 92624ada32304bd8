import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fixture, isRunning, runAcc, startAcc, type AccRun } from '../../fixtures/run-acc.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-launch-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** The processes that left a file: ranks and their children. */
const pids = (): number[] =>
  readdirSync(folder)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

const running = (): number[] => pids().filter(isRunning);

const waitFor = (condition: () => boolean): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 240_000, interval: 20 });

describe('when a rank fails', () => {
  const fail = (how: string): Promise<AccRun> =>
    runAcc(['launch', '-n', '3', fixture('fail.mjs'), folder, how]);

  it('ends all other ranks, with the exit code and the error of the rank that threw', async () => {
    const { code, stderr } = await fail('throw');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^acc: rank 1 of 3 .*exit code 1/m);
    expect(stderr.slice(stderr.indexOf('acc: rank 1 of 3'))).toContain('rank 1 is out of luck');
    // Nobody must wait for the others to learn of the failure.
    expect(stderr).toMatch(/^acc: rank 1 failed, ending the other ranks\n\[[02]\] asked to end$/m);
    expect(pids()).toHaveLength(5);
    expect(running()).toEqual([]);
  });

  it('returns the code of process.exit', async () => {
    const { code, stderr } = await fail('exit');
    expect(code).toBe(7);
    expect(stderr).toMatch(/^acc: rank 1 of 3 .*exit code 7/m);
    expect(running()).toEqual([]);
  });

  it('returns 128 plus the number of a signal', async () => {
    const { code, stderr } = await fail('kill');
    expect(code).toBe(137);
    expect(stderr).toMatch(/^acc: rank 1 of 3 .*SIGKILL/m);
    expect(running()).toEqual([]);
  });

  it('blames the rank that failed, not the ranks that lost their peer', async () => {
    const { code, stderr } = await fail('late-exit');
    expect(stderr).toMatch(/^acc: rank 1 of 3 .*exit code 7/m);
    const [, errors] = /^ {2}all errors, kept for 7 days: (.*)$/m.exec(stderr) ?? expect.unreachable(stderr);
    expect(readFileSync(errors!, 'utf8')).toContain('ACC_PEER_LOST');
    expect(code).toBe(7);
    expect(running()).toEqual([]);
  });
});

it('shows the error of a rank that ends with exit code 0 all the same', async () => {
  const { code, stderr } = await runAcc(['launch', '-n', '2', fixture('forgives.mjs')]);
  expect(code).toBe(0);
  const [first, ...lines] = stderr.split('\n');
  expect(first).toBe('acc: rank 1 failed but ended with exit code 0:');
  expect(lines).toContain('    Error: the end of rank 1 fails');
});

describe('when the launcher is interrupted', () => {
  async function hang(how: string, options: readonly string[] = []) {
    const job = startAcc(['launch', '-n', '2', ...options, fixture('hang.mjs'), folder, how]);
    await waitFor(() => pids().length === 4);
    return job;
  }

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('passes %s on and exits with %i', async (signal, code) => {
    const { child, ended } = await hang('plain');
    child.kill(signal);
    expect(await ended).toMatchObject({ code });
    expect(running()).toEqual([]);
  });

  it('lets ranks clean up', async () => {
    const { child, ended } = await hang('polite');
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout.trim().split('\n').sort()).toEqual(['[0] rank 0 tidied up', '[1] rank 1 tidied up']);
    expect(running()).toEqual([]);
  });

  it('kills ranks that do not end', async () => {
    const { child, ended } = await hang('stubborn', ['--grace', '1']);
    child.kill('SIGHUP');
    expect(await ended).toMatchObject({ code: 129 });
    expect(running()).toEqual([]);
  });

  it('kills at once on a second interrupt', async () => {
    const { child, ended } = await hang('slow', ['--grace', '90']);
    let asked = '';
    child.stdout!.on('data', (text: string) => (asked += text));
    child.kill('SIGINT');
    await waitFor(() => asked.split('asked').length === 3);
    // The first of these may still count as the same key press. One that comes when the ranks have ended
    // may end the launcher itself by the signal.
    const presses = setInterval(() => running().length > 0 && child.kill('SIGINT'), 500);
    const { code, stdout } = await ended;
    clearInterval(presses);
    expect(code).toBe(130);
    expect(stdout).not.toContain('ended by itself');
    expect(running()).toEqual([]);
  });

  it.each(['stubborn', 'busy'])('leaves no %s process behind when it is killed itself', async (how) => {
    const { child, ended } = await hang(how, ['--grace', '1']);
    child.kill('SIGKILL');
    expect(await ended).toMatchObject({ code: null, signal: 'SIGKILL' });
    await waitFor(() => running().length === 0);
  });
});

describe('when nobody reads its output any longer', () => {
  it('ends like any program that writes to a closed pipe', async () => {
    const { child, ended } = startAcc(['launch', '-n', '2', fixture('many-lines.mjs')]);
    child.stdout!.once('data', () => child.stdout!.destroy());
    expect(await ended).toMatchObject({ code: 141 });
  });
});
