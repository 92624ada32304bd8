import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addonCacheFolder, addonIn, addonSources, locateAddon } from './addon-files.js';
import type { LibtorchInstall } from './inspect.js';
import { ncclState } from './nccl.js';
import type * as packageRoots from './package-root.js';
import { packageRoot, readManifest } from './package-root.js';
import { libraryFile, requirePlatform } from './platform.js';
import { temporaryFolder, writeFiles } from './test-support.js';

const installed = vi.hoisted(() => ({ root: undefined as string | undefined }));
vi.mock('./package-root.js', async (importOriginal) => {
  const real = await importOriginal<typeof packageRoots>();
  return { ...real, packageRoot: () => installed.root ?? real.packageRoot() };
});

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
  installed.root = undefined;
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

  it('with NCCL comes first for a libtorch with CUDA', () => {
    const cuda = { ...LIBTORCH, variant: 'cu130', libDir: join(folder.path, 'torch', 'lib') };
    const libraries = { [libraryFile('torch_cuda')]: '' };
    const addon = { 'acc_native.node': 'libtorch_cpu', 'acc_loader.node': '' };
    const found = () => locateAddon(cuda)!;
    writeFiles(addonCacheFolder(cuda), addon);
    expect(ncclState(cuda, found())).toBe('unneeded');
    writeFiles(cuda.libDir, libraries);
    expect(ncclState(cuda, found())).toBe('headers missing');
    writeFiles(addonCacheFolder(cuda, 'nccl'), {
      ...addon,
      'acc_native.node': Object.keys(libraries).join(),
    });
    expect(dirname(found().native)).toBe(addonCacheFolder(cuda, 'nccl'));
    expect(ncclState(cuda, found())).toBe('linked');
    expect(locateAddon(LIBTORCH)).toBeUndefined();
  });

  it('without NCCL can be built with it where the headers are', () => {
    const root = join(folder.path, 'torch');
    const cuda = { ...LIBTORCH, variant: 'cu130', root, libDir: join(root, 'lib') };
    writeFiles(cuda.libDir, { [libraryFile('torch_cuda')]: '' });
    writeFiles(addonCacheFolder(cuda), { 'acc_native.node': '', 'acc_loader.node': '' });
    const include = join(folder.path, 'nvidia', 'cu13', 'include');
    const headers = ['nccl.h', 'cuda_runtime_api.h', 'cusparse.h', 'crt/host_config.h', 'nv/target'];
    for (const header of headers) writeFiles(dirname(join(include, header)), { [basename(header)]: '' });
    expect(ncclState(cuda, locateAddon(cuda)!)).toBe('buildable');
  });

  it('depends on every source of the addon', () => {
    const sources = addonSources(packageRoot());
    expect(sources[0]!.name).toBe('binding.gyp');
    expect(sources.map(({ name }) => name)).toContain(join('cpp', 'loader', 'loader.cpp'));
    expect(sources.filter(({ path }) => path.endsWith('.gyp'))).toHaveLength(1);
    expect(addonIn(folder.path, 'cache')).toBeUndefined();
  });
});

it('a prebuilt addon with NCCL is for one version of CUDA', () => {
  const root = join(folder.path, 'installed');
  const name = `@acc/native-${requirePlatform()}`;
  const platform = join(root, 'node_modules', name);
  const manifest = (name: string) => ({ 'package.json': JSON.stringify({ name, version: '1.0.0' }) });
  writeFiles(join(root, 'cpp'), { 'acc.gyp': '' });
  writeFiles(root, manifest('@acc/native'));
  writeFiles(platform, manifest(name));
  for (const each of ['torch-2.13', 'torch-2.13-cu130'])
    writeFiles(join(platform, each), { 'acc_native.node': '', 'acc_loader.node': '' });
  const libDir = join(folder.path, 'torch', 'lib');
  writeFiles(libDir, { [libraryFile('torch_cuda')]: '' });
  installed.root = root;
  const folderFor = (libtorch: LibtorchInstall) => basename(dirname(locateAddon(libtorch)!.native));
  expect(folderFor(LIBTORCH)).toBe('torch-2.13');
  expect(folderFor({ ...LIBTORCH, libDir, variant: 'cu130' })).toBe('torch-2.13-cu130');
  expect(folderFor({ ...LIBTORCH, libDir, variant: 'cu126' })).toBe('torch-2.13');
  expect(folderFor({ ...LIBTORCH, libDir, variant: 'cuda' })).toBe('torch-2.13');
});

describe('packageRoot', () => {
  it('is the folder of this package', () => {
    expect(readManifest(join(packageRoot(), 'package.json')).name).toBe('@acc/native');
  });
});
