import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixture, runAcc, runAccIn } from '../fixtures/run-acc.js';

/** The error's code and text, which nothing accompanies on stdout. */
async function refusal(...args: string[]): Promise<string> {
  const run = await runAcc(args);
  expect(run).toMatchObject({ code: 2, stdout: '' });
  return run.stderr;
}

describe('a wrong command line', () => {
  it('names our option for the spelling of another launcher', async () => {
    const said = await refusal('launch', '--nproc_per_node=2', 'train.ts');
    expect(said).toContain('ACC_UNKNOWN_OPTION');
    expect(said).toContain('→ Here it is -n N');
  });

  it.each([
    [['launch', '-n', 'two', 'train.ts'], 'ACC_BAD_OPTION', 'npx acc launch --help'],
    [['launch', '-n', '0', 'train.ts'], 'ACC_BAD_OPTION', 'npx acc launch --help'],
    [['test', '-n', '0'], 'ACC_BAD_OPTION', 'npx acc test --help'],
    [['launch', '--zzzzzzzz', 'train.ts'], 'ACC_UNKNOWN_OPTION', 'npx acc launch --help'],
    [['launch'], 'ACC_USAGE', 'npx acc launch --help'],
    [['setup', '--zzzzzzzz'], 'ACC_UNKNOWN_OPTION', 'npx acc setup --help'],
    [['env', 'zzzzzzzz'], 'ACC_USAGE', 'npx acc env --help'],
    [['--zzzzzzzz'], 'ACC_UNKNOWN_OPTION', 'npx acc --help'],
  ])('points to the help of its own command: %j', async (args, code, help) => {
    const said = await refusal(...args);
    expect(said).toContain(code);
    expect(said).toContain(`→ ${help} lists`);
  });
});

describe('an unknown command', () => {
  it.each([[['sweep']], [['sweep', '--help']], [['sweep', '-h']], [['help', 'sweep']]])(
    'does not print the general help: %j',
    async (args) => {
      const said = await refusal(...args);
      expect(said).toContain('ACC_UNKNOWN_COMMAND');
      expect(said).toContain(
        'The commands are launch, config, convert-config, diagnose, env, estimate-memory, plan, scale-study, monitor, merge-weights, test, setup, completion.',
      );
    },
  );

  it('suggests the nearest command', async () =>
    expect(await refusal('lanch')).toContain('Did you mean launch?'));
});

describe('help', () => {
  it.each([[['--help']], [['help']], [['launch', '--help']], [['help', 'launch']], [['--version']]])(
    'is printed when asked for: %j',
    async (args) => {
      const run = await runAcc(args);
      expect(run).toMatchObject({ code: 0, stderr: '' });
      expect(run.stdout).not.toBe('');
    },
  );

  it('is printed with exit code 2 if no command is given', async () => {
    expect(await runAcc([])).toMatchObject({ code: 2, stderr: expect.stringContaining('launch') as unknown });
  });
});

describe('a Node.js that is too old', () => {
  const old =
    "--import=data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'18.20.8'}})";
  const onOld = (...args: string[]) => runAcc(args, { env: { NODE_OPTIONS: old } });

  it('is the only error of every command', async () => {
    const runs = await Promise.all([['launch', 'x.ts'], ['--help'], ['lauch']].map((args) => onOld(...args)));
    for (const run of runs) {
      expect(run).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr).toMatch(/^acc: ACC_NODE_TOO_OLD: Node\.js 18\.20\.8 .*\n→ Install Node\.js .*\n$/);
    }
  });

  it('is marked by acc env', async () => {
    const { code, stdout } = await onOld('env');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^node .*, too old$/m);
    expect(stdout).toContain('✗ ACC_NODE_TOO_OLD: Node.js 18.20.8');
  });
});

describe('a removed working directory', () => {
  it.each([
    [['launch', 'train.ts']],
    [['config', '--default']],
    [['convert-config', 'a.yaml']],
    [['test']],
    [['env']],
  ])('is named as such: %j', async (args) => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-removed-'));
    const run = await runAccIn(folder, `rmdir '${folder}' && exec "$0" "$@"`, args);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(/^acc: ACC_WORKING_FOLDER: .*\n→ .*cd/);
  });
});

describe('a folder that cannot be created', () => {
  it.each([
    [['launch', '--log-dir', '/proc/none/logs', fixture('output.mjs')], 'ACC_LOG_NOT_WRITABLE'],
    [['config', '--default', '--config-file', '/proc/none/acc.yaml'], 'ACC_CONFIG_NOT_WRITABLE'],
  ])('is an error: %j', async (args, code) => {
    const run = await runAcc(args);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain(code);
  });
});
