import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { venv } from '../e2e/trackers/python/venv.js';
import { EmulatedDriver } from './emulated.js';
import { resultsOn, type ProgramCase } from './program-case.js';
import { CASES } from './program-cases.js';

// NVRTC compiles the source of fused programs, without a GPU.

const run = promisify(execFile);
const [first] = CASES as [ProgramCase];

it('compiles with NVRTC of CUDA 12 and 13 for two architectures', async () => {
  const own = EmulatedDriver.create();
  // Rows of other lengths differ in numbers only.
  const compiled = CASES.filter(({ name }) => !/^\d+ rows of/.test(name) || /of (4|300|16384)$/.test(name));
  for (const given of compiled) resultsOn('cpu', given, own.path);
  const { bin } = await venv('nvrtc');
  const script = join(import.meta.dirname, 'compile_with_nvrtc.py');
  const { stdout } = await run(bin('python'), [script, own.folder, 'sm_80', 'sm_90'], { maxBuffer: 2 ** 28 });
  const results = JSON.parse(stdout) as { readonly nvrtc: string; readonly log: string }[];
  expect(results.filter(({ log }) => log !== '')).toEqual([]);
  expect([...new Set(results.map(({ nvrtc }) => nvrtc))].toSorted()).toEqual(['12.6', '13.0']);
  expect(results.length).toBe(4 * own.compiled);
}, 400_000);

/** A driver with NVRTC of CUDA 13, for a GPU of an architecture, which loads programs but runs none. */
async function loadingDriver(major: number): Promise<string> {
  const { bin } = await venv('nvrtc');
  const find =
    'import nvidia, glob; print(*[f for p in nvidia.__path__ for f in glob.glob(p + "/*/lib/libnvrtc.so.13")])';
  const { stdout } = await run(bin('python'), ['-c', find]);
  const folder = dirname(stdout.trim());
  const path = join(mkdtempSync(join(tmpdir(), 'acc-loading-')), 'libcaffe2_nvrtc.so');
  const source = join(import.meta.dirname, 'loading-driver.cpp');
  const link = [`-L${folder}`, '-l:libnvrtc.so.13', `-Wl,-rpath,${folder}`];
  await run('g++', ['-shared', '-fPIC', `-DACC_MAJOR=${major}`, '-o', path, source, ...link]);
  return path;
}

it.each([
  ['machine code for a GPU that NVRTC knows', 9, 'machine code was loaded'],
  ['PTX for a later GPU', 99, 'PTX was loaded'],
])(
  'gives the driver %s',
  async (_, major, text) => {
    const path = await loadingDriver(major);
    expect(() => resultsOn('cpu', first, path)).toThrowError(
      expect.objectContaining({
        code: 'ACC_OPERATOR_FAILED',
        message: expect.stringContaining(text) as string,
      }),
    );
  },
  400_000,
);
