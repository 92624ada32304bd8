import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfigFile, type Configuration } from '@acc/config';
import { fixture, runAcc } from '../../fixtures/run-acc.js';
import { ranksFor } from './machine.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-config-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const acc = (args: readonly string[], env: Record<string, string> = {}) =>
  runAcc(args, { cwd: folder, env: { XDG_CONFIG_HOME: join(folder, 'xdg'), ...env } });

describe('acc config', () => {
  it.each([
    [1, 0, 1],
    [2, 0, 2],
    [4, 0, 2],
    [8, 0, 4],
    [64, 0, 8],
    [8, 3, 3],
  ])('suggests for %i cores and %i GPUs %i ranks', (cores, gpus, ranks) =>
    expect(ranksFor(cores, gpus)).toBe(ranks),
  );

  it('writes what flags say, and defaults for this machine, and replaces no file unasked', async () => {
    const file = join(folder, 'acc.yaml');
    expect(await acc(['config', '--default'])).toMatchObject({ code: 0, stdout: `${file}\n` });
    expect((await loadConfigFile(file)).launch.get('nproc')!.value).toBeGreaterThanOrEqual(1);
    const refused = await acc(['config', '--nproc', '3']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('ACC_CONFIG_EXISTS');
    const flags = ['--nproc', '3', '--mixed-precision', 'bf16', '--set', 'gradientClipping.norm=1'];
    expect((await acc(['config', '--force', ...flags, '--set', 'maxRestarts=2'])).code).toBe(0);
    const { launch, accelerator } = await loadConfigFile(file);
    expect(Array.from(launch, ([name, { value }]) => [name, value])).toEqual([
      ['nproc', 3],
      ['maxRestarts', 2],
    ]);
    expect(Array.from(accelerator, ([name, { value }]) => [name, value])).toEqual([
      ['mixedPrecision', 'bf16'],
      ['gradientClipping.norm', 1],
    ]);
    expect(readFileSync(file, 'utf8')).toContain('# gradientAccumulationSteps:');
    expect((await acc(['config', '--user', '--default'])).code).toBe(0);
    expect(existsSync(join(folder, 'xdg/acc/config.yaml'))).toBe(true);
  });

  it.each([
    [['config'], 'ACC_NOT_INTERACTIVE'],
    [['config', '--mixed-precision', 'bf61'], 'ACC_BAD_OPTION'],
    [['config', '--set', 'sead=1'], 'ACC_BAD_OPTION', 'Did you mean seed?'],
    [['config', '--set', 'gradientCliping.norm=1'], 'ACC_BAD_OPTION', 'Did you mean gradientClipping.norm?'],
    [['config', '--user', '--config-file', 'a.yaml', '--default'], 'ACC_BAD_OPTION'],
    [['config', '--default', '--config-file', '/dev/null/acc.yaml'], 'ACC_CONFIG_NOT_WRITABLE'],
    [['env', '--config-file', 'a.yaml'], 'ACC_BAD_OPTION'],
    [['launch', '--strategy', 'dpp', 'a.mjs'], 'ACC_BAD_OPTION'],
    [['launch', '--print', 'slurm', '--strategy', 'ddp', 'a.mjs'], 'ACC_BAD_OPTION'],
  ])('%j is refused', async (args, code, more = '') => {
    const run = await acc(args);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain(`${code}: `);
    expect(run.stderr).toContain(more);
    expect(existsSync(join(folder, 'acc.yaml'))).toBe(false);
  });
});

it('acc config update keeps the values of the file and changes those given', async () => {
  const file = join(folder, 'acc.yaml');
  expect((await acc(['config', 'update', '--nproc', '2'])).stderr).toContain('ACC_CONFIG_MISSING: ');
  writeFileSync(
    file,
    'launch: { nproc: 2, maxRestarts: 1 }\naccelerator: { seed: 3, ddp: { findUnused: false } }\n',
  );
  const changed = ['--mixed-precision', 'bf16', '--set', 'maxRestarts=4'];
  expect(await acc(['config', 'update', ...changed])).toMatchObject({ code: 0, stdout: `${file}\n` });
  const { launch, accelerator } = await loadConfigFile(file);
  expect(
    Object.fromEntries(Array.from([...launch, ...accelerator], ([name, { value }]) => [name, value])),
  ).toEqual({
    nproc: 2,
    maxRestarts: 4,
    mixedPrecision: 'bf16',
    seed: 3,
    'ddp.findUnused': false,
  });
  expect(readFileSync(file, 'utf8')).toContain('# gradientAccumulationSteps:');
  expect((await acc(['config', 'update', '--force'])).stderr).toContain('ACC_BAD_OPTION: ');
});

it('a printed job has all of its options in its acc.yaml, or uses no file', async () => {
  writeFileSync(join(folder, 'acc.yaml'), 'launch: { nproc: 2, maxRestarts: 1 }\n');
  const print = ['launch', '--print', 'slurm'];
  const refused = ['--config-file', 'acc.yaml', '--mixed-precision', 'bf16', '--strategy', 'ddp', 'a.mjs'];
  const [read, none, all] = await Promise.all([
    acc([...print, 'a.mjs']),
    acc([...print, '--config-file', 'none', 'a.mjs']),
    acc([...print, ...refused]),
  ]);
  expect(read.stdout).toContain('-n 2 ');
  expect(read.stdout).toContain('--max-restarts 1');
  expect(none).toMatchObject({ code: 0, stderr: '' });
  expect(none.stdout).toContain('-n 1 ');
  expect(none.stdout).toContain('--config-file none');
  expect(none.stdout).not.toContain('--max-restarts');
  expect(all.code).toBe(2);
  expect(all.stderr).toContain('--config-file, --mixed-precision, --strategy are not written');
});

it('acc env --explain shows the origin of each value', async () => {
  writeFileSync(join(folder, 'acc.yaml'), 'launch:\n  nproc: 2\naccelerator:\n  seed: 1\n  device: cpu\n');
  const { stdout } = await acc(['env', '--explain'], { ACC_SEED: '7' });
  expect(stdout).toMatch(/^launch\.nproc +2 +\S+acc\.yaml:2$/m);
  expect(stdout).toMatch(/^seed +7 +ACC_SEED$/m);
  expect(stdout).toMatch(/^device +cpu +\S+acc\.yaml:5$/m);
  expect(stdout).toMatch(/^engine +auto +default$/m);
  const json = JSON.parse((await acc(['env', '--explain', '--json'])).stdout) as Configuration;
  expect(json.options).toContainEqual(
    expect.objectContaining({ name: 'seed', value: 1, origin: `${join(folder, 'acc.yaml')}:4` }),
  );
});

it('acc launch reads the file, and options of the command line come first', async () => {
  writeFileSync(join(folder, 'acc.yaml'), 'launch: { nproc: 2, threads: 3, maxRestarts: 1 }\n');
  const program = fixture('output.mjs');
  const shown = (args: readonly string[], env = {}) => acc(['launch', '--dry-run', ...args, program], env);
  const [fromFile, ofUser, given, none] = await Promise.all([
    shown([]),
    shown([], { OMP_NUM_THREADS: '1' }),
    shown(['-n', '1', '--threads', '2', '--max-restarts', '0', '--mixed-precision', 'bf16']),
    acc(['launch', '--dry-run', '--config-file', 'none', program, '--threads', '2']),
  ]);
  expect(fromFile.stdout).toMatch(/rank 1 of 2[^]*OMP_NUM_THREADS=3[^]*TORCHELASTIC_MAX_RESTARTS=1/);
  expect(fromFile.stdout).toContain(`ACC_CONFIG_FILE=${join(folder, 'acc.yaml')}`);
  expect(ofUser.stdout).not.toContain('OMP_NUM_THREADS=3');
  expect(given.stdout).toMatch(/rank 0 of 1[^]*OMP_NUM_THREADS=2/);
  expect(given.stdout).toContain('ACC_MIXED_PRECISION=bf16 ACC_COMMAND_LINE=ACC_MIXED_PRECISION');
  expect(given.stdout).not.toContain('TORCHELASTIC_MAX_RESTARTS');
  expect(none.stdout).toMatch(/rank 0 of 1/);
  expect(none.stderr).toContain('Write: npx acc launch --dry-run --config-file none --threads 2 ');
  expect(none.stdout).toContain('ACC_CONFIG_FILE=none');
});
