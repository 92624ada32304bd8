import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';

const SCRIPT = fileURLToPath(new URL('./limited.mjs', import.meta.url));
const MIB = 2 ** 20;
/** Beyond what a process needs without a model, in bytes. */
const ROOM = 75 * MIB;

interface Written {
  /** Bytes of data of the process before it builds the model. */
  readonly base: number;
  readonly weights: number;
  readonly predicted: number[];
}

const folder = mkdtempSync(join(tmpdir(), 'acc-limited-'));
const offload = join(folder, 'offload');
let written: Written;

/** Runs the script, where the process may have `data` bytes of data and write files of `file` bytes. */
function run(
  mode: string,
  { data, file }: { readonly data?: number; readonly file?: number } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const limit = (bytes: number | undefined, unit: number) =>
    bytes === undefined ? 'unlimited' : String(Math.floor(bytes / unit));
  const limits = [limit(data, 1024), limit(file, 512)];
  const script = 'ulimit -d "$0" && ulimit -f "$1" && shift && exec "$@"';
  const command = ['-c', script, ...limits, process.execPath, SCRIPT, mode];
  const env = { ...process.env, OMP_NUM_THREADS: '1' };
  return new Promise((resolve) => {
    const options = { env, timeout: 240_000, maxBuffer: 8 * MIB };
    execFile('/bin/sh', [...command, join(folder, 'model'), offload], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    );
  });
}

beforeAll(async () => {
  const { code, stdout, stderr } = await run('write');
  expect(code, stderr).toBe(0);
  written = JSON.parse(stdout) as Written;
});

it('a model that is larger than the memory which the process may have does not load', async () => {
  expect(written.weights).toBeGreaterThan(2 * ROOM);
  const { code, stderr } = await run('plain', { data: written.base + ROOM });
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/ACC_OUT_OF_MEMORY|out of memory|bad_alloc/i);
});

it.each(['dispatched', 'inferred'])(
  'and predicts when it is %s, with the numbers of a process without a limit',
  async (mode) => {
    const { code, stdout, stderr } = await run(mode, { data: written.base + ROOM });
    expect(code, stderr).toBe(0);
    const { predicted } = JSON.parse(stdout) as Pick<Written, 'predicted'>;
    expect(predicted).toHaveLength(written.predicted.length);
    // The outputs have a root mean square of 0.03. Where a kernel adds in another order, they differ by
    // 5e-7, also those near 0.
    expectClose(predicted, written.predicted, { rtol: 0, atol: 3e-6 });
    expect(readdirSync(offload)).toEqual([]);
  },
);

it('a file for offloaded weights that cannot grow is an error with a code', async () => {
  const { code, stderr } = await run('dispatched', { file: MIB });
  expect(code).toBe(1);
  expect(stderr).toContain('ACC_STORAGE_FULL');
});
