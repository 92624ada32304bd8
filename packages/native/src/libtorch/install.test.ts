import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchFromFirst, planSources, type InstallProgress } from './fetch.js';
import { installLibtorch } from './install.js';
import { libraryFile, requirePlatform } from './platform.js';
import { pipRequirement } from './sources.js';
import {
  temporaryFolder,
  writeArchive,
  writeFiles,
  writeLibtorch,
  writeWheel,
  writeZip,
} from './test-support.js';

let folder: ReturnType<typeof temporaryFolder>;
const inFolder = (...parts: string[]) => join(folder.path, ...parts);
const inCache = (...parts: string[]) => inFolder('cache', 'libtorch', ...parts);
const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const failing = (code: string) => expect.objectContaining({ code }) as Error;

beforeEach(() => {
  folder = temporaryFolder();
  vi.stubEnv('ACC_CACHE_DIR', inFolder('cache'));
  vi.stubEnv('ACC_LIBTORCH_URL', '');
});

afterEach(() => {
  vi.unstubAllEnvs();
  folder[Symbol.dispose]();
});

/** The version of this platform's CPU build, `2.13.0+cpu` on Linux. */
const cpuVersion = (version: string) => pipRequirement(requirePlatform(), version).replace('torch==', '');

describe('installLibtorch from a file', () => {
  it('unpacks only the libraries and headers of an archive whose checksum is given', async () => {
    const from = writeArchive(inFolder('libtorch.zip'), '2.12.0+cpu', { 'share/cmake/x.cmake': '' });
    const install = await installLibtorch({ from, sha256: sha256(from) });
    expect(install).toMatchObject({
      root: inCache('2.12.0-cpu'),
      version: '2.12.0',
      variant: 'cpu',
      origin: 'cache',
    });
    expect(readdirSync(inCache())).toEqual(['2.12.0-cpu']);
    expect(readdirSync(install.root).sort()).toEqual(['acc-origin.json', 'build-version', 'include', 'lib']);
    expect(readdirSync(install.libDir).sort()).toEqual([libraryFile('c10'), libraryFile('torch_cpu')].sort());
    expect(readFileSync(from).length).toBeGreaterThan(0);
  });

  it('unpacks a wheel, checks it against its RECORD, and reports that', async () => {
    const notes: InstallProgress[] = [];
    const from = writeWheel(folder.path, '2.11.0+cpu');
    const install = await installLibtorch({ from, onProgress: (event) => notes.push(event) });
    expect(install).toMatchObject({ version: '2.11.0', variant: 'cpu' });
    expect(notes.some(({ phase }) => phase === 'note')).toBe(true);
    expect(notes.at(-1)).toMatchObject({ phase: 'unpack' });
    expect(JSON.parse(readFileSync(join(install.root, 'acc-origin.json'), 'utf8'))).toEqual({
      source: from,
      fileName: 'torch-2.11.0+cpu-py3-none-any.whl',
      sha256: sha256(from),
      verifiedBy: 'record',
    });
  });

  it('keeps the CUDA variant in another folder', async () => {
    const from = writeWheel(folder.path, '2.13.0+cu130');
    expect(await installLibtorch({ from })).toMatchObject({
      root: inCache('2.13.0-cu130'),
      variant: 'cu130',
    });
  });

  it('leaves nothing of a wheel that differs from its RECORD', async () => {
    const changed = (lines: string[]) => lines.map((line) => line.replace(/(script\.h,sha256=)./, '$1_'));
    const from = writeWheel(folder.path, '2.13.0+cpu', changed);
    await expect(installLibtorch({ from })).rejects.toThrow(failing('ACC_CHECKSUM_MISMATCH'));
    const incomplete = (lines: string[]) => lines.filter((line) => !line.includes('script.h'));
    await expect(
      installLibtorch({ from: writeWheel(folder.path, '2.13.0+cpu', incomplete) }),
    ).rejects.toThrow(failing('ACC_CHECKSUM_MISMATCH'));
    expect(readdirSync(inCache())).toEqual([]);
  });

  it('refuses wrong and unknown files', async () => {
    const archive = writeArchive(inFolder('libtorch.zip'), '2.13.0+cpu');
    const given = sha256(archive);
    const refusals: [Parameters<typeof installLibtorch>[0], string][] = [
      [{ from: archive }, 'ACC_CHECKSUM_MISSING'],
      [{ from: archive, sha256: 'f'.repeat(64) }, 'ACC_CHECKSUM_MISMATCH'],
      [{ from: archive, sha256: given, version: '2.12.0' }, 'ACC_LIBTORCH_INVALID'],
      [{ from: inFolder('nowhere.zip') }, 'ACC_LIBTORCH_INVALID'],
      [{ from: folder.path }, 'ACC_LIBTORCH_INVALID'],
      [{ from: writeFilesAt('no.zip', 'text') }, 'ACC_LIBTORCH_INVALID'],
      [{ from: writeZip(inFolder('other.zip'), { 'a/b': 'c' }) }, 'ACC_LIBTORCH_INVALID'],
      [{ from: writeWheel(folder.path, '2.10.0+cpu') }, 'ACC_LIBTORCH_UNSUPPORTED'],
      [{ version: '2.10.0' }, 'ACC_LIBTORCH_UNSUPPORTED'],
      [{ form: archive } as object, 'ACC_UNKNOWN_OPTION'],
    ];
    for (const [options, code] of refusals)
      await expect(installLibtorch(options)).rejects.toThrow(failing(code));
    expect(readdirSync(inCache())).toEqual([]);
  });

  it('refuses an archive without libtorch and a truncated archive', async () => {
    const hollow = writeZip(inFolder('hollow.zip'), { 'libtorch/build-version': '2.13.0+cpu' });
    await expect(installLibtorch({ from: hollow, sha256: sha256(hollow) })).rejects.toThrow(
      failing('ACC_LIBTORCH_INVALID'),
    );
    const whole = readFileSync(writeArchive(inFolder('whole.zip'), '2.13.0+cpu'));
    const cut = inFolder('cut.zip');
    writeFileSync(cut, whole.subarray(0, whole.length / 2));
    await expect(installLibtorch({ from: cut, sha256: sha256(cut) })).rejects.toThrow(
      failing('ACC_LIBTORCH_INVALID'),
    );
  });

  it('replaces a broken installation', async () => {
    writeFiles(inCache('2.13.0-cpu'), { 'build-version': '2.13.0+cpu' });
    const from = writeWheel(folder.path, '2.13.0+cpu');
    expect(await installLibtorch({ from })).toMatchObject({ root: inCache('2.13.0-cpu') });
  });

  it('reports that the cache is not writable', async () => {
    writeFiles(folder.path, { cache: 'a file' });
    await expect(installLibtorch()).rejects.toThrow(failing('ACC_CACHE_NOT_WRITABLE'));
  });
});

describe('installLibtorch without a file', () => {
  it('uses what the cache has', async () => {
    const cached = writeLibtorch(inCache('2.13.0-cpu'), '2.13.0+cpu');
    expect(await installLibtorch({ offline: true })).toMatchObject({ root: cached });
  });

  it('lets pip fetch the wheel, and cleans up', async () => {
    writeWheel(folder.path, cpuVersion('2.12.0'));
    vi.stubEnv('PIP_FIND_LINKS', folder.path);
    const install = await installLibtorch({ version: '2.12.0', offline: true });
    expect(install).toMatchObject({ root: inCache('2.12.0-cpu'), version: '2.12.0' });
    expect(readdirSync(inCache())).toEqual(['2.12.0-cpu']);
  });

  it('passes on the message of pip if there is no wheel', async () => {
    vi.stubEnv('PIP_FIND_LINKS', folder.path);
    await expect(installLibtorch({ version: '2.12.0', offline: true })).rejects.toThrow(
      failing('ACC_DOWNLOAD_UNREACHABLE'),
    );
    expect(readdirSync(inCache())).toEqual([]);
  });

  it('falls back to pip with a note if a host is unreachable, and fails if there is only one source', async () => {
    writeWheel(folder.path, cpuVersion('2.12.0'));
    vi.stubEnv('PIP_FIND_LINKS', folder.path);
    const request = {
      platform: requirePlatform(),
      version: '2.12.0',
      sha256: undefined,
      libtorchUrl: undefined,
      downloadDir: inFolder('downloads'),
      stagingDir: inFolder('staging'),
      onProgress: () => undefined,
    };
    const [host] = planSources({ ...request, from: 'http://127.0.0.1:1/x.zip', offline: false });
    const [pip] = planSources({ ...request, from: undefined, offline: true });
    const events: InstallProgress[] = [];
    const file = await fetchFromFirst(
      [host!, pip!],
      (event) => events.push(event),
      (fetched) => Promise.resolve(fetched),
    );
    expect(file).toMatchObject({ source: 'pip', temporary: true });
    expect(events.map(({ phase }) => phase)).toEqual(['fetch', 'note', 'fetch']);
    await expect(
      fetchFromFirst(
        [host!],
        () => undefined,
        () => Promise.resolve(),
      ),
    ).rejects.toThrow(failing('ACC_DOWNLOAD_UNREACHABLE'));
  });
});

function writeFilesAt(name: string, content: string): string {
  writeFiles(folder.path, { [name]: content });
  return inFolder(name);
}
