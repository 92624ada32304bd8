import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runAcc } from '../../fixtures/run-acc.js';
import { inspectEnvironment, type EnvironmentReport } from './inspect.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-env-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** A machine on which nothing was installed yet. */
const bare = () => ({
  cwd: folder,
  env: {
    PATH: folder,
    ACC_CACHE_DIR: join(folder, 'cache'),
    ACC_LIBTORCH: undefined,
    ACC_JOB_TOKEN: 'hidden',
  },
});

describe('acc env', () => {
  it('names what is missing and how to install it', async () => {
    const { code, stdout } = await runAcc(['env', '--json'], bare());
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as EnvironmentReport;
    expect(report).toMatchObject({
      node: process.version,
      addon: { state: 'missing' },
      tfjs: [],
      variables: { ACC_JOB_TOKEN: '(set)', ACC_CACHE_DIR: join(folder, 'cache') },
    });
    expect(report.libtorch.chosen).toBeUndefined();
    expect(report.libtorch.candidates.map(({ outcome }) => outcome)).toEqual(['absent', 'absent', 'absent']);
    expect(report.missing.map(({ mend }) => mend)).toEqual([
      'npx acc setup',
      'npx acc setup',
      'npm install @tensorflow/tfjs',
    ]);
    expect(stdout).not.toContain('hidden');
  });

  it('finds tfjs from the working directory, and prints the same facts as text', async () => {
    const core = join(folder, 'node_modules/@tensorflow/tfjs-core');
    mkdirSync(core, { recursive: true });
    mkdirSync(join(folder, 'program'));
    writeFileSync(join(core, 'package.json'), JSON.stringify({ version: '4.22.0' }));
    const { code, stdout } = await runAcc(['env'], { ...bare(), cwd: join(folder, 'program') });
    expect(code).toBe(0);
    expect(stdout).toContain(`@tensorflow/tfjs-core 4.22.0, ${core}`);
    expect(stdout).toContain('→ npx acc setup');
    expect(stdout).not.toContain('hidden');
  });

  it("names two copies of tfjs-core, tfjs 3, and Yarn's Plug'n'Play", () => {
    const install = (name: string, version: string, within = folder) => {
      const path = join(within, 'node_modules', name);
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'package.json'), JSON.stringify({ version }));
      return path;
    };
    const problems = () =>
      inspectEnvironment(folder, {}).missing.filter(({ what }) => /tensorflow|Yarn/.test(what));
    install('@tensorflow/tfjs-core', '4.22.0');
    const layers = install('@tensorflow/tfjs-layers', '4.22.0');
    expect(problems()).toEqual([]);

    install('@tensorflow/tfjs-layers', '3.21.0');
    const old = '@tensorflow/tfjs-layers 3.21.0: the packages of @acc need tfjs 4';
    expect(problems()).toEqual([{ what: old, mend: 'npm install @tensorflow/tfjs-layers@4' }]);

    install('@tensorflow/tfjs-core', '3.21.0', layers);
    install('@tensorflow/tfjs-core', '4.21.0', install('@acc/core', '0.1.0'));
    const [, copies] = problems();
    expect(copies!.mend).toContain('npm dedupe');
    expect(copies!.what).toMatch(
      /^3 copies of .*: 4\.22\.0 of the program, .*; 3\.21\.0 of @tensorflow\/tfjs-layers, .*; 4\.21\.0 of @acc\/core, /,
    );

    writeFileSync(join(folder, '.pnp.cjs'), '');
    expect(problems()).toMatchObject([
      { mend: expect.stringContaining('nodeLinker: node-modules') as string },
    ]);
  });

  it('names the collective engines that work here, and why', async () => {
    const { stdout } = await runAcc(['env', '--json'], {
      env: { ACC_COLLECTIVE_ENGINE: 'gloo', ACC_LIBTORCH: undefined },
    });
    const { collective } = JSON.parse(stdout) as EnvironmentReport;
    expect(collective).toMatchObject({ oneHost: 'gloo', severalHosts: 'gloo', gpus: 'gloo' });
    expect(collective!.reason).toContain('ACC_COLLECTIVE_ENGINE');
  });

  it('reports an ACC_LIBTORCH that cannot be used', async () => {
    const { stdout } = await runAcc(['env', '--json'], {
      ...bare(),
      env: { ...bare().env, ACC_LIBTORCH: folder },
    });
    const report = JSON.parse(stdout) as EnvironmentReport;
    expect(report.libtorch.candidates[0]).toMatchObject({ origin: 'ACC_LIBTORCH', outcome: 'refused' });
    expect(report.missing[0]!.mend).toContain('unset ACC_LIBTORCH');
  });
});

describe('acc setup', () => {
  it('refuses an archive without libtorch', async () => {
    const file = join(folder, 'torch.zip');
    writeFileSync(file, 'no archive');
    const run = await runAcc(['setup', '--offline', '--from', file], bare());
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(/^acc: ACC_[A-Z_]+: /m);
  });

  it('refuses options that contradict ACC_LIBTORCH', async () => {
    const run = await runAcc(['setup', '--libtorch', '2.13.0'], { env: { ACC_LIBTORCH: folder } });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('ACC_SETUP_CONFLICT');
  });
});
