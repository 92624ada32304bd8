import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixture, runAcc, type AccRun } from '../../fixtures/run-acc.js';

interface Reported {
  readonly env: Record<string, string | undefined>;
  readonly argv: readonly string[];
}

/** The output of `environment.mjs`, by rank. */
function reported({ stdout }: AccRun): Record<string, Reported> {
  const lines = stdout.trim().split('\n');
  return Object.fromEntries(
    lines.map((line) => {
      const [, rank = '', json = ''] = /^\[(\d+)\] (.*)$/.exec(line) ?? [];
      return [rank, JSON.parse(json) as Reported];
    }),
  );
}

describe('acc launch', () => {
  it("gives ranks torchrun's environment, one token and the script's own arguments", async () => {
    const args = ['launch', '-n', '2', '--', fixture('environment.mjs'), '-n', '5', '--lr=0.1', '--', 'x'];
    const run = await runAcc(args, { env: { NODE_OPTIONS: '--title=from-options' } });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    const ranks = reported(run);
    expect(Object.keys(ranks)).toEqual(['0', '1']);
    for (const [rank, { env, argv }] of Object.entries(ranks)) {
      expect(env).toEqual({
        RANK: rank,
        LOCAL_RANK: rank,
        WORLD_SIZE: '2',
        LOCAL_WORLD_SIZE: '2',
        GROUP_RANK: '0',
        GROUP_WORLD_SIZE: '1',
        MASTER_ADDR: '127.0.0.1',
        MASTER_PORT: expect.stringMatching(/^\d+$/),
        ACC_JOB_TOKEN: expect.stringMatching(/^[0-9a-f]{32}$/),
        ACC_LIBTORCH: '/no/libtorch',
        OMP_NUM_THREADS: String(Math.max(1, Math.floor(availableParallelism() / 2))),
        NODE_OPTIONS: '--title=from-options',
      });
      expect(argv).toEqual([process.execPath, fixture('environment.mjs'), '-n', '5', '--lr=0.1', '--', 'x']);
    }
    const { 0: first, 1: second } = ranks;
    expect(first!.env.MASTER_PORT).toBe(second!.env.MASTER_PORT);
    expect(first!.env.ACC_JOB_TOKEN).toBe(second!.env.ACC_JOB_TOKEN);
  });

  it('numbers the ranks of several hosts, and uses the user’s token', async () => {
    const hosts = ['--nnodes', '2', '--node-rank', '1', '--rdzv-endpoint', 'node0.example:4000'];
    const args = ['launch', '-n', '2', '--threads', '3', ...hosts, fixture('environment.mjs')];
    const ranks = reported(await runAcc(args, { env: { ACC_JOB_TOKEN: 'ours' } }));
    expect(Object.keys(ranks)).toEqual(['2', '3']);
    expect(ranks['3']!.env).toMatchObject({
      LOCAL_RANK: '1',
      WORLD_SIZE: '4',
      LOCAL_WORLD_SIZE: '2',
      GROUP_RANK: '1',
      MASTER_ADDR: 'node0.example',
      MASTER_PORT: '4000',
      ACC_JOB_TOKEN: 'ours',
      OMP_NUM_THREADS: '3',
    });
  });

  it('searches for libtorch once, for all ranks, and lets Node.js keep compiled modules', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-libtorch-'));
    const root = join(folder, 'libtorch', '2.13.0-cpu');
    const extension = process.platform === 'darwin' ? 'dylib' : 'so';
    for (const name of ['lib', 'include/torch']) mkdirSync(join(root, name), { recursive: true });
    for (const name of ['torch_cpu', 'c10']) writeFileSync(join(root, `lib/lib${name}.${extension}`), '');
    writeFileSync(join(root, 'build-version'), '2.13.0+cpu');
    // No Python on the path, so that the cache is what is found.
    const unset = ['ACC_LIBTORCH', 'NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE', 'NODE_DISABLE_COMPILE_CACHE'];
    const env = {
      ...Object.fromEntries(unset.map((name) => [name, undefined])),
      ...{ PATH: folder, ACC_CACHE_DIR: folder },
    };
    const ranks = reported(await runAcc(['launch', '-n', '2', fixture('environment.mjs')], { env }));
    expect([ranks['0']!.env.ACC_LIBTORCH, ranks['1']!.env.ACC_LIBTORCH]).toEqual([root, root]);
    const compiled = join(folder, 'compiled');
    const hasCache = 'enableCompileCache' in module;
    const names = existsSync(compiled) ? readdirSync(compiled) : [];
    expect(names.some((name) => name.startsWith('v'))).toBe(hasCache);
    rmSync(folder, { recursive: true });
  });

  it('runs TypeScript and CommonJS as they are', async () => {
    const typescript = await runAcc(['launch', '-n', '2', fixture('typescript.ts'), 'a', '--b']);
    expect(typescript.stdout.trim().split('\n').sort()).toEqual([
      '[0] hello from a script true a --b',
      '[1] hello from a script true a --b',
    ]);
    const common = await runAcc(['launch', '-n', '2', '--no-prefix', fixture('common.cjs')]);
    expect(common.stdout).toBe('common.cjs true\ncommon.cjs true\n');
  });

  it('runs a module by its name, with its own arguments', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'acc-module-'));
    const folder = join(cwd, 'node_modules', 'trainings');
    mkdirSync(folder, { recursive: true });
    const manifest = { name: 'trainings', exports: { './tune': './tune.mjs' } };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'tune.mjs'), 'console.log(process.argv.slice(2).join());');
    const run = await runAcc(['launch', '--module', 'trainings/tune', '--rate', '0.1'], { cwd });
    expect(run).toMatchObject({ code: 0, stdout: '--rate,0.1\n' });
    rmSync(cwd, { recursive: true });
  });

  it('gives a single rank stdin and stdout unchanged', async () => {
    const run = await runAcc(['launch', fixture('echo-stdin.mjs')], { input: 'typed\r' });
    expect(run).toMatchObject({ code: 0, stdout: 'typed\rthe end of stdin', stderr: '' });
  });

  it('prefixes whole lines, however they were split into writes', async () => {
    const { stdout, stderr } = await runAcc(['launch', '-n', '2', fixture('output.mjs')], { input: '' });
    for (const rank of [0, 1]) {
      const lines = stdout.split('\n').filter((line) => line.startsWith(`[${rank}] `));
      expect(lines.slice(0, 20)).toEqual(
        Array.from({ length: 20 }, (_, i) => `[${rank}] line ${i} of ${rank} — ${'ä'.repeat(20)}`),
      );
      expect(lines.at(-1)).toBe(`[${rank}] no line end`);
    }
    // Rank 0 rewrites its line; of rank 1 only the last state is seen.
    expect(stdout).toMatch(/\[0\] step 1\r[^]*\[0\] step 2\r[^]*\[0\] step 3\n/);
    expect(stdout).not.toContain('[1] step 2');
    expect(stdout).toMatch(/^\[1\] step 3$/m);
    expect(stderr.split('\n').sort()).toEqual(['', '[0] to stderr', '[1] to stderr']);
  });

  it('loses and splits no line when much is written at once', async () => {
    const { stdout } = await runAcc(['launch', '-n', '2', fixture('many-lines.mjs')]);
    const counts: [number, number] = [0, 0];
    for (const line of stdout.trimEnd().split('\n')) {
      const [, rank, owner, i] = /^\[(\d)\] (\d):(\d+) x{100}$/.exec(line) ?? [];
      expect(owner).toBe(rank);
      expect(Number(i)).toBe(counts[rank === '0' ? 0 : 1]++);
    }
    expect(counts).toEqual([20_000, 20_000]);
  });
});

describe('acc launch with wrong arguments', () => {
  it.each([
    ['a missing script', ['evironment.mjs'], 'ACC_SCRIPT_NOT_FOUND', `'environment.mjs'`],
    ['its options after the script', ['no.mjs', '-n', '2'], 'ACC_SCRIPT_NOT_FOUND', 'launch -n 2 no.mjs\n'],
    ['a folder', ['.'], 'ACC_SCRIPT_NOT_FILE', ''],
    ['no script', [], 'ACC_USAGE', ''],
    ['a bad -n', ['-n', 'two', 'environment.mjs'], 'ACC_BAD_OPTION', ''],
    ['no rank', ['-n', '0', 'environment.mjs'], 'ACC_BAD_OPTION', ''],
    ['an unknown option', ['--nnode', '2', 'environment.mjs'], 'ACC_UNKNOWN_OPTION', '--nnodes'],
    [
      'several hosts without a place',
      ['--nnodes', '2', 'environment.mjs'],
      'ACC_MISSING_OPTION',
      '--node-rank',
    ],
  ])('refuses %s with a code and no stack', async (_name, args, code, named) => {
    const run = await runAcc(['launch', ...args], { cwd: fixture('.') });
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain(code);
    expect(run.stderr).toContain(named);
    expect(run.stderr).not.toMatch(/^ {4}at /m);
  });

  it('refuses a taken port', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const run = await runAcc(['launch', '--rdzv-endpoint', `127.0.0.1:${port}`, fixture('environment.mjs')]);
    server.close();
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('ACC_PORT_TAKEN');
  });

  it('refuses an unknown command', async () => {
    const run = await runAcc(['lanch', basename(fixture('environment.mjs'))]);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('ACC_UNKNOWN_COMMAND');
  });
});
