import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../program.js';
import { optionsAfterScript } from './after-script.js';
import { completeOptions, parseEndpoint, type LaunchOptions } from './options.js';

const codeOf = (options: Partial<LaunchOptions>): string => {
  try {
    completeOptions({ script: 'x.ts', ...options });
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'none';
};

describe('completeOptions', () => {
  it('runs one rank on one host by default', () => {
    expect(completeOptions({ script: 'x.ts' })).toEqual({
      script: 'x.ts',
      args: [],
      nproc: 1,
      nnodes: 1,
      minNodes: undefined,
      lastCallMs: 30_000,
      hostTimeoutMs: 10_000,
      nodeRank: 0,
      endpoint: undefined,
      rendezvous: undefined,
      networkInterface: undefined,
      threads: undefined,
      oversubscribe: false,
      maxRestarts: 0,
      graceMs: 6_000,
      prefix: true,
      cpuBind: 'none',
      logs: undefined,
      dryRun: false,
      env: {},
    });
  });

  it("starts one rank for each core with 'auto'", () => {
    expect(completeOptions({ script: 'x.ts', nproc: 'auto' }).nproc).toBe(availableParallelism());
  });

  it('refuses invalid numbers', () => {
    const bad = [
      { nproc: 0 },
      { nproc: 1.5 },
      { nproc: NaN },
      { nnodes: 0 },
      { threads: 0 },
      { grace: 0 },
      { grace: 1.5 },
      { nodeRank: 1 },
    ];
    expect(bad.map(codeOf)).toEqual(bad.map(() => 'ACC_BAD_OPTION'));
    const severalHosts = { nnodes: 2, rdzvEndpoint: 'a:1' };
    expect(codeOf({ ...severalHosts, nodeRank: 1 })).toBe('none');
    expect(codeOf({ ...severalHosts, nodeRank: 2 })).toBe('ACC_BAD_OPTION');
  });

  it('says what --nnodes takes', () => {
    const expected = '--nnodes must be a whole number from 1, or the fewest and the most hosts: 1:4, not';
    for (const nnodes of ['4:1', '0:2', 'x', '1:', 0, 1.5, NaN, '9'.repeat(400)])
      expect(() => completeOptions({ script: 'x.ts', nnodes, rdzvEndpoint: 'a' })).toThrowError(
        expect.objectContaining({
          code: 'ACC_BAD_OPTION',
          message: expect.stringContaining(`${expected} '${nnodes}'.`) as string,
        }),
      );
  });

  it('meets at one address only with a range of hosts', () => {
    const range = { nnodes: '1:2', rdzvEndpoint: 'a:1' };
    expect(codeOf({ ...range, rdzvBackend: 'c10d' })).toBe('none');
    expect(codeOf({ ...range, rdzvBackend: 'etcd' })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ ...range, rdzvBackend: 'zookeeper' as never })).toBe('ACC_BAD_OPTION');
  });

  it('names the options that several hosts need', () => {
    expect(codeOf({ nnodes: 2, rdzvEndpoint: 'a:1' })).toBe('ACC_MISSING_OPTION');
    expect(codeOf({ nnodes: 2, nodeRank: 0 })).toBe('ACC_MISSING_OPTION');
    expect(codeOf({ nnodes: 2, nodeRank: 0, rdzvEndpoint: 'a:0' })).toBe('ACC_BAD_OPTION');
  });

  it('accepts etcd, which assigns the node ranks', () => {
    const etcd = { nnodes: 2, rdzvBackend: 'etcd', rdzvEndpoint: 'e', rdzvId: 'job-1' } as const;
    expect(completeOptions({ script: 'x.ts', ...etcd })).toMatchObject({
      nodeRank: undefined,
      rendezvous: { host: 'e', port: 2379, id: 'job-1' },
    });
    expect(codeOf({ ...etcd, rdzvId: undefined })).toBe('ACC_MISSING_OPTION');
    expect(codeOf({ ...etcd, rdzvEndpoint: undefined })).toBe('ACC_MISSING_OPTION');
    expect(codeOf({ ...etcd, rdzvId: 'a/b' })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ rdzvId: 'job' })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ rdzvBackend: 'zookeeper' as never })).toBe('ACC_BAD_OPTION');
  });

  it('takes a folder for output, and ranks that are also shown', () => {
    const folder = resolve('logs');
    expect(completeOptions({ script: 'x.ts', logDir: 'logs' }).logs).toEqual({ folder, tee: [] });
    expect(completeOptions({ script: 'x.ts', logDir: 'logs', tee: [0] }).logs).toEqual({ folder, tee: [0] });
    expect(codeOf({ tee: 'all' })).toBe('ACC_MISSING_OPTION');
    expect(codeOf({ logDir: 'logs', tee: [-1] })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ logDir: 'logs', nproc: 2, tee: [2] })).toBe('ACC_BAD_OPTION');
  });

  it('refuses what is not known before the start in a dry run', () => {
    const etcd = { nnodes: 2, rdzvBackend: 'etcd', rdzvEndpoint: 'e', rdzvId: 'job-1' } as const;
    expect(codeOf({ ...etcd, dryRun: true })).toBe('ACC_BAD_OPTION');
  });

  it('takes a range of hosts, which need the address of the first', () => {
    const range = { nnodes: '1:4', rdzvEndpoint: 'first' };
    expect(completeOptions({ script: 'x.ts', ...range, lastCall: 5, hostTimeout: 2 })).toMatchObject({
      minNodes: 1,
      nnodes: 4,
      lastCallMs: 5_000,
      hostTimeoutMs: 2_000,
      endpoint: { host: 'first', port: 29500 },
    });
    expect(codeOf({ nnodes: '1:4' })).toBe('ACC_MISSING_OPTION');
    const bad = [{ nnodes: '4:1' }, { nnodes: '0:2' }, { nnodes: 'x' }, { nodeRank: 0 }, { rdzvId: 'a' }];
    const others = [
      { rdzvBackend: 'etcd' as const },
      { dryRun: true },
      { rdzvEndpoint: 'a:0' },
      { hostTimeout: 1 },
    ];
    for (const wrong of [...bad, ...others]) {
      expect(codeOf({ ...range, ...wrong }), JSON.stringify(wrong)).toBe('ACC_BAD_OPTION');
    }
    expect(codeOf({ lastCall: 5 })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ hostTimeout: 5 })).toBe('ACC_BAD_OPTION');
  });

  it('refuses unknown ways to bind', () => {
    expect(codeOf({ cpuBind: 'socket' as never })).toBe('ACC_BAD_OPTION');
  });

  it.each([{ prefix: 'no' }, { dryRun: 1 }, { logDir: 1 }])('refuses values of other types: %j', (wrong) => {
    expect(codeOf(wrong as never)).toBe('ACC_BAD_OPTION');
  });

  it('refuses unknown options', () => {
    expect(codeOf({ nprocs: 2 } as never)).toBe('ACC_UNKNOWN_OPTION');
  });
});

describe('parseEndpoint', () => {
  it("accepts a host with or without a port, with torchrun's default port", () => {
    expect(parseEndpoint('node0:1234')).toEqual({ host: 'node0', port: 1234 });
    expect(parseEndpoint('10.0.0.1')).toEqual({ host: '10.0.0.1', port: 29500 });
    expect(parseEndpoint('[fe80::1]:80')).toEqual({ host: 'fe80::1', port: 80 });
    expect(parseEndpoint('[::1]')).toEqual({ host: '::1', port: 29500 });
  });

  it('refuses invalid endpoints', () => {
    for (const text of ['', ':1', 'a:b', 'a:1:2', '::1', 'a:99999', '[]:1']) {
      expect(() => parseEndpoint(text), text).toThrowError(
        expect.objectContaining({ code: 'ACC_BAD_OPTION' }),
      );
    }
  });
});

describe('optionsAfterScript', () => {
  const { options } = createProgram(() => {}).commands.find((command) => command.name() === 'launch')!;
  const warningOf = (args: string, before: string[] = []) =>
    optionsAfterScript({ before, script: 'train.ts', args: args.split(' '), options })?.split('\n  ');

  it.each([
    ['-n 2 --lr 0.1', '-n is an option', '-n 2 train.ts --lr 0.1'],
    ['-n2', '-n2 is an option', '-n2 train.ts'],
    ['--lr 0.1 --strategy=fsdp', '--strategy is an option', '--strategy=fsdp train.ts --lr 0.1'],
    ['--dry-run 2 --tee 0,1 x', '--dry-run, --tee are options', '--dry-run --tee 0,1 train.ts 2 x'],
  ])('says where %s belongs', (args, names, line) => {
    const [warning, write, otherwise] = warningOf(args)!;
    expect(warning).toContain(`acc: ${names}`);
    expect(write).toBe(`Write: npx acc launch ${line}`);
    expect(otherwise).toBe(`If the program is meant: npx acc launch -- train.ts ${args}\n`);
  });

  it.each([['--lr 0.1 -name n'], ['-- -n 2'], ['']])("leaves the program's own arguments: '%s'", (args) =>
    expect(warningOf(args)).toBeUndefined(),
  );

  it('keeps the options before the script', () =>
    expect(warningOf('--threads 2', ['-n', '4', '--strategy', 'fsdp'])!.slice(1)).toEqual([
      'Write: npx acc launch -n 4 --strategy fsdp --threads 2 train.ts',
      'If the program is meant: npx acc launch -n 4 --strategy fsdp -- train.ts --threads 2\n',
    ]));

  it('is silent after --', () => expect(warningOf('-n 2', ['-n', '4', '--'])).toBeUndefined());
});
