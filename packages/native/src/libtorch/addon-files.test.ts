import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addonCacheFolder, addonIn, addonSources, locateAddon } from './addon-files.js';
import type { LibtorchInstall } from './inspect.js';
import { packageRoot, readManifest } from './package-root.js';
import { temporaryFolder, writeFiles } from './test-support.js';

const LIBTORCH: LibtorchInstall = {
  root: '/torch',
  libDir: '/torch/lib',
  includeDir: '/torch/include',
  version: '2.13.0',
  variant: 'cpu',
  origin: 'cache',
};

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
  vi.stubEnv('ACC_CACHE_DIR', folder.path);
});

afterEach(() => {
  vi.unstubAllEnvs();
  folder[Symbol.dispose]();
});

describe('the addon in the cache', () => {
  it('has a folder for each libtorch, wherever that is', () => {
    const cpu = addonCacheFolder(LIBTORCH);
    expect(dirname(cpu)).toBe(join(folder.path, 'addon'));
    expect(addonCacheFolder({ ...LIBTORCH, root: '/elsewhere' })).toBe(cpu);
    expect(addonCacheFolder({ ...LIBTORCH, version: '2.12.0' })).not.toBe(cpu);
    expect(addonCacheFolder({ ...LIBTORCH, variant: 'cu130' })).not.toBe(cpu);
    expect(basename(cpu)).toMatch(/^torch-2\.13\.0-cpu-/);
  });

  it('is found if both files exist', () => {
    expect(locateAddon(LIBTORCH)).toBeUndefined();
    const cache = addonCacheFolder(LIBTORCH);
    writeFiles(cache, { 'acc_native.node': '' });
    expect(locateAddon(LIBTORCH)).toBeUndefined();
    writeFiles(cache, { 'acc_loader.node': '' });
    expect(locateAddon(LIBTORCH)).toEqual({
      native: join(cache, 'acc_native.node'),
      loader: join(cache, 'acc_loader.node'),
      origin: 'cache',
    });
  });

  it('depends on every source of the addon', () => {
    const sources = addonSources(packageRoot());
    expect(sources[0]!.name).toBe('binding.gyp');
    expect(sources.map(({ name }) => name)).toContain(join('cpp', 'loader', 'loader.cpp'));
    expect(sources.filter(({ path }) => path.endsWith('.gyp'))).toHaveLength(1);
    expect(addonIn(folder.path, 'cache')).toBeUndefined();
  });
});

describe('packageRoot', () => {
  it('is the folder of this package', () => {
    expect(readManifest(join(packageRoot(), 'package.json')).name).toBe('@acc/native');
  });
});
