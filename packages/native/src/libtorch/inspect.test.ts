import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectLibtorch, parseVersionPy } from './inspect.js';
import { libraryFile } from './platform.js';
import { temporaryFolder, torchPackage, writeFiles, writeLibtorch } from './test-support.js';

describe('inspectLibtorch', () => {
  it('reads an unpacked archive and a torch package', () => {
    using folder = temporaryFolder();
    const archive = writeLibtorch(join(folder.path, 'archive'), '2.12.1+cu130');
    expect(inspectLibtorch(archive, 'cache')).toEqual({
      install: {
        root: archive,
        libDir: join(archive, 'lib'),
        includeDir: join(archive, 'include'),
        version: '2.12.1',
        variant: 'cu130',
        origin: 'cache',
      },
    });
    const python = writeFiles(join(folder.path, 'python'), torchPackage('2.13.0+cpu'));
    expect(inspectLibtorch(python, 'python')).toMatchObject({
      install: { version: '2.13.0', variant: 'cpu' },
    });
  });

  it('lists what is missing in a wrong folder', () => {
    using folder = temporaryFolder();
    const inspection = inspectLibtorch(folder.path, 'ACC_LIBTORCH');
    expect(inspection).toMatchObject({ code: 'ACC_LIBTORCH_INVALID' });
    expect((inspection as { reason: string }).reason).toContain(join('lib', libraryFile('torch_cpu')));
  });

  it('refuses a folder without a version, and an unsupported version', () => {
    using folder = temporaryFolder();
    const root = writeLibtorch(folder.path, '2.10.0+cpu');
    expect(inspectLibtorch(root, 'cache')).toMatchObject({ code: 'ACC_LIBTORCH_UNSUPPORTED' });
    rmSync(join(root, 'build-version'));
    expect(inspectLibtorch(root, 'cache')).toMatchObject({ code: 'ACC_LIBTORCH_INVALID' });
  });
});

describe('parseVersionPy', () => {
  it('derives the variant from the label, otherwise from the CUDA version', () => {
    const stated = (version: string, cuda: string) =>
      parseVersionPy(`__version__ = '${version}'\ndebug = False\ncuda: Optional[str] = ${cuda}\n`);
    expect(stated('2.13.0+cpu', 'None')).toEqual({ version: '2.13.0', label: 'cpu' });
    expect(stated('2.13.0', "'13.0'")).toEqual({ version: '2.13.0', label: 'cu130' });
    expect(stated('2.13.0+gitabc', "'12.8'")).toEqual({ version: '2.13.0', label: 'cu128' });
    expect(stated('2.13.0', 'None')).toEqual({ version: '2.13.0', label: undefined });
    expect(parseVersionPy('nothing')).toBeUndefined();
  });
});
