import { isAccError } from '@acc/contract';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { describeSearch, findLibtorch, requireLibtorch } from './search.js';
import { temporaryFolder, torchPackage, writeFiles, writeLibtorch } from './test-support.js';

let folder: ReturnType<typeof temporaryFolder>;
const inFolder = (...parts: string[]) => join(folder.path, ...parts);

/** A machine whose Python finds no torch other than the one that a test puts on PYTHONPATH. */
beforeEach(() => {
  folder = temporaryFolder();
  vi.stubEnv('ACC_LIBTORCH', '');
  vi.stubEnv('ACC_CACHE_DIR', inFolder('cache'));
  vi.stubEnv('PYTHONNOUSERSITE', '1');
  hidePythonTorch();
});

afterEach(() => {
  vi.unstubAllEnvs();
  folder[Symbol.dispose]();
});

/** A broken torch stands before any that this machine may have. */
function hidePythonTorch(): void {
  writeFiles(inFolder('python', 'torch'), { '__init__.py': '' });
  vi.stubEnv('PYTHONPATH', inFolder('python'));
}

function installPythonTorch(version: string): string {
  return writeFiles(inFolder('python', 'torch'), torchPackage(version));
}

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    if (isAccError(error)) return error.code;
    throw error;
  }
  return undefined;
}

describe('findLibtorch', () => {
  it('finds nothing on an empty machine, and lists where it looked', () => {
    expect(findLibtorch()).toBeUndefined();
    expect(requireLibtorch).toThrowError(
      expect.objectContaining({
        code: 'ACC_LIBTORCH_MISSING',
        help: expect.stringContaining('npx acc setup') as unknown,
        details: { candidates: [expect.anything(), expect.anything(), expect.anything()] },
      }),
    );
  });

  it('prefers ACC_LIBTORCH to Python, and Python to the cache', () => {
    const cached = writeLibtorch(inFolder('cache', 'libtorch', '2.13.0-cpu'), '2.13.0+cpu');
    expect(findLibtorch()).toMatchObject({ origin: 'cache', root: cached });
    const python = installPythonTorch('2.12.0+cpu');
    expect(findLibtorch()).toMatchObject({ origin: 'python', root: python, version: '2.12.0' });
    const own = writeLibtorch(inFolder('own'), '2.11.0+cpu');
    vi.stubEnv('ACC_LIBTORCH', own);
    expect(findLibtorch()).toMatchObject({ origin: 'ACC_LIBTORCH', root: own, version: '2.11.0' });
    expect(requireLibtorch().root).toBe(own);
  });

  it('never skips a wrong ACC_LIBTORCH', () => {
    writeLibtorch(inFolder('cache', 'libtorch', '2.13.0-cpu'), '2.13.0+cpu');
    vi.stubEnv('ACC_LIBTORCH', inFolder('nowhere'));
    expect(codeOf(findLibtorch)).toBe('ACC_LIBTORCH_INVALID');
    expect(describeSearch().chosen).toBeUndefined();
    vi.stubEnv('ACC_LIBTORCH', writeLibtorch(inFolder('old'), '2.6.0+cpu'));
    expect(codeOf(findLibtorch)).toBe('ACC_LIBTORCH_UNSUPPORTED');
  });

  it('skips an unsupported torch of Python, with the reason', () => {
    installPythonTorch('2.6.0+cpu');
    const cached = writeLibtorch(inFolder('cache', 'libtorch', '2.13.0-cpu'), '2.13.0+cpu');
    const { candidates, chosen } = describeSearch();
    expect(chosen?.root).toBe(cached);
    expect(candidates.map(({ origin, outcome, code }) => ({ origin, outcome, code }))).toEqual([
      { origin: 'ACC_LIBTORCH', outcome: 'absent', code: undefined },
      { origin: 'python', outcome: 'refused', code: 'ACC_LIBTORCH_UNSUPPORTED' },
      { origin: 'cache', outcome: 'found', code: undefined },
    ]);
    expect(candidates[1]?.reason).toContain('2.6.0');
  });

  it('takes a torch that is newer than the tested ones only where there is no other, or where it is named', () => {
    const newer = installPythonTorch('2.99.0+cpu');
    expect(findLibtorch()).toMatchObject({ origin: 'python', root: newer, version: '2.99.0' });
    const cached = writeLibtorch(inFolder('cache', 'libtorch', '2.13.0-cpu'), '2.13.0+cpu');
    expect(findLibtorch()).toMatchObject({ origin: 'cache', root: cached });
    const { candidates, chosen } = describeSearch();
    expect(chosen?.root).toBe(cached);
    expect(candidates[1]?.reason).toContain('newer than the tested');
    vi.stubEnv('ACC_LIBTORCH', newer);
    expect(findLibtorch()).toMatchObject({ origin: 'ACC_LIBTORCH', root: newer });
  });

  it('prefers the newest in the cache and CUDA to CPU, and ignores unfinished folders', () => {
    writeLibtorch(inFolder('cache', 'libtorch', '2.11.0-cu130'), '2.11.0+cu130');
    writeLibtorch(inFolder('cache', 'libtorch', '2.13.0-cpu'), '2.13.0+cpu');
    writeLibtorch(inFolder('cache', 'libtorch', '.staging-1~host~1'), '2.13.0+cu130');
    expect(findLibtorch()).toMatchObject({ version: '2.13.0', variant: 'cpu' });
    writeLibtorch(inFolder('cache', 'libtorch', '2.13.0-cu130'), '2.13.0+cu130');
    expect(findLibtorch()).toMatchObject({ version: '2.13.0', variant: 'cu130' });
  });

  it('does not mistake a folder named torch in the working folder for the package', () => {
    vi.stubEnv('PYTHONPATH', inFolder('python'));
    const elsewhere = inFolder('elsewhere');
    writeFiles(join(elsewhere, 'torch'), { '__init__.py': '', ...torchPackage('2.13.0+cpu') });
    const before = process.cwd();
    process.chdir(elsewhere);
    try {
      expect(findLibtorch()).toBeUndefined();
    } finally {
      process.chdir(before);
    }
  });

  it('reports that there is no python3', () => {
    mkdirSync(inFolder('bin'));
    vi.stubEnv('PATH', inFolder('bin'));
    expect(describeSearch().candidates[1]).toMatchObject({ origin: 'python', outcome: 'absent' });
  });
});
