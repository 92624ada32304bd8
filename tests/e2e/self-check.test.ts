import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isRunning, startAcc, type AccRun } from '../../packages/cli/fixtures/run-acc.js';

interface Verdict {
  readonly hasPassed: boolean;
  readonly ranks: number;
  readonly checks: readonly {
    readonly name: string;
    readonly state: string;
    readonly problems?: string[];
    readonly code?: string;
    readonly help?: string;
    readonly figures?: { bytes: number; microseconds: number; gigabytesPerSecond: number }[];
  }[];
}

const CHECKS = [
  'start',
  'collectives float32',
  'collectives int32',
  'collectives bf16',
  'objects',
  'data shards',
  'mixed precision',
  'training',
  'checkpoint',
  'speed',
];

/** The folder for temporary files of the runs. */
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-self-check-'))));
afterEach(() => {
  // Nothing is left of a run, however it ended, but the record of a rank that noticed a lost one.
  expect(readdirSync(folder).filter((name) => !name.startsWith('acc-flight-'))).toEqual([]);
  rmSync(folder, { recursive: true });
});

/** Starts `acc test`. With a fault, each rank loads it first. */
function start(args: readonly string[], fault?: string) {
  const preload = new URL(`ranks/faults/${fault}.mjs`, import.meta.url).href;
  const env = {
    ACC_LIBTORCH: process.env['ACC_LIBTORCH'],
    OMP_NUM_THREADS: '1',
    TMPDIR: folder,
    ACC_CONFIG_FILE: 'none',
    ...(fault && { NODE_OPTIONS: `--import=${preload}` }),
  };
  return startAcc(['test', ...args], { env });
}

const verdictOf = (run: AccRun): Verdict => JSON.parse(run.stdout) as Verdict;
const statesOf = (verdict: Verdict) => verdict.checks.map(({ name, state }) => [name, state]);

describe('acc test', () => {
  it('passes every check on two ranks, and reports speed', async () => {
    const run = await start(['-n', '2', '--json']).ended;
    expect(run.code, run.stderr).toBe(0);
    const verdict = verdictOf(run);
    expect(verdict).toMatchObject({ hasPassed: true, isInterrupted: false, ranks: 2 });
    const expected = CHECKS.map((name) => [name, name === 'mixed precision' ? 'leftOut' : 'passed']);
    expect(statesOf(verdict)).toEqual(expected);
    const { figures } = verdict.checks.at(-1)!;
    expect(figures!.map(({ bytes }) => bytes)).toEqual([4, 64e3, 1e6, 16e6, 64e6]);
    for (const { bytes, microseconds, gigabytesPerSecond } of figures!) {
      expect(microseconds).toBeGreaterThan(0);
      // Two ranks send as many bytes as the tensor has.
      expect(gigabytesPerSecond).toBeCloseTo(bytes / microseconds / 1000, 6);
    }
  });

  it('checks with the options of the command line: three ranks, another engine, sharded, in 16 bits', async () => {
    const options = ['--engine', 'gloo', '--strategy', 'fsdp', '--mixed-precision', 'bf16'];
    const run = await start(['-n', '3', ...options]).ended;
    expect(run.code, run.stdout + run.stderr).toBe(0);
    expect(run.stdout).toMatch(/^ok +start +3 ranks, backend acc on cpu, engine gloo$/m);
    expect(run.stdout).toMatch(/^ok +mixed precision +products compute in bf16$/m);
    expect(run.stdout).toMatch(/^ +64\.0 MB .* GB\/s$/m);
    expect(run.stdout).toMatch(/^10 checks passed on 3 ranks\.$/m);
  });

  it('checks one rank, and says how to check more', async () => {
    const run = await start([]).ended;
    expect(run.code, run.stdout + run.stderr).toBe(0);
    expect(run.stdout).toMatch(/^- +speed +one rank sends nothing$/m);
    expect(run.stdout).toContain('npx acc test -n 2');
  });

  it('fails where weights differ from those of one process, and goes on', async () => {
    const run = start(['-n', '2', '--json'], 'other-numbers');
    const { code, stdout, stderr } = await run.ended;
    expect(code, stderr).toBe(1);
    const verdict = JSON.parse(stdout) as Verdict;
    expect(statesOf(verdict)).toEqual(
      CHECKS.map((name) => [
        name,
        name === 'mixed precision' ? 'leftOut' : name === 'training' ? 'failed' : 'passed',
      ]),
    );
    const training = verdict.checks.find(({ name }) => name === 'training');
    expect(training!.problems!.join()).toContain('weights differ from one process');
    expect(training!.help).toContain('acc env');
  });

  it('names the rank that died, and the check', async () => {
    const { code, stdout } = await start(['-n', '2'], 'dies').ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /FAILED on 2 ranks:\n {2}training: rank 1 was killed by SIGKILL during this check/,
    );
  });

  it('names what a rank cannot use', async () => {
    const run = await start(['-n', '2', '--engine', 'nccl', '--json']).ended;
    expect(run.code).toBe(1);
    expect(verdictOf(run).checks).toEqual([
      expect.objectContaining({ name: 'start', state: 'failed', code: 'ACC_ENGINE_UNAVAILABLE' }),
    ]);
  });

  it('ends with its ranks at Ctrl-C', async () => {
    const { child, ended } = start(['-n', '2'], 'hangs');
    let pid: number | undefined;
    child.stderr!.on('data', (text: string) => {
      pid ??= Number(/hanging (\d+)/.exec(text)?.[1]) || undefined;
      if (pid !== undefined) child.kill('SIGINT');
    });
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout).toContain('was interrupted');
    expect(isRunning(pid!)).toBe(false);
  });
});
