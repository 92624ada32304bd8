import { isAccError, type AccError } from '@acc/contract';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { compilerJobs } from './build.js';
import { requireToolchain } from './toolchain.js';
import { temporaryFolder } from './test-support.js';

describe('requireToolchain', () => {
  it("finds this workspace's node-gyp", () => {
    expect(existsSync(requireToolchain().nodeGyp)).toBe(true);
  });

  it('names everything that is missing and how to install it', () => {
    using folder = temporaryFolder();
    try {
      requireToolchain({ env: { PATH: folder.path, CXX: 'my-compiler -m64' } });
      expect.unreachable();
    } catch (error) {
      expect(isAccError(error, 'ACC_TOOLCHAIN_MISSING')).toBe(true);
      expect((error as AccError).details).toEqual({ missing: ['my-compiler', 'make', 'python3'] });
      expect((error as AccError).help).toMatch(/apt-get install|xcode-select/);
    }
  });

  it('offline, needs headers of this Node.js: its own, or those that node-gyp has fetched', () => {
    using folder = temporaryFolder();
    const { execPath } = process;
    onTestFinished(() => void (process.execPath = execPath));
    // A Node.js without headers.
    mkdirSync(join(folder.path, 'bin'));
    process.execPath = join(folder.path, 'bin', 'node');
    writeFileSync(process.execPath, '');
    const env = { ...process.env, npm_config_devdir: folder.path };
    expect(requireToolchain({ env }).nodeDir).toBeUndefined();
    expect(() => requireToolchain({ env, offline: true })).toThrow(
      expect.objectContaining({
        code: 'ACC_TOOLCHAIN_MISSING',
        details: { missing: [`headers of Node.js ${process.versions.node}`] },
      }) as Error,
    );
    const fetched = join(folder.path, process.versions.node);
    mkdirSync(join(fetched, 'include', 'node'), { recursive: true });
    writeFileSync(join(fetched, 'include', 'node', 'node_api.h'), '');
    expect(requireToolchain({ env, offline: true }).nodeDir).toBe(fetched);
  });
});

it.each([
  ['all cores', 4, 16, 'linux', 4],
  ['as many as memory allows', 4, 4, 'linux', 2],
  ['one, however little memory is free', 4, 0.5, 'linux', 1],
  ['two on macOS', 4, 0.5, 'darwin', 2],
  ['no more than cores', 1, 0.5, 'darwin', 1],
] as const)('the compiler runs on %s', (_, cores, gibibytes, platform, jobs) => {
  expect(compilerJobs(cores, gibibytes * 2 ** 30, platform)).toBe(jobs);
});
