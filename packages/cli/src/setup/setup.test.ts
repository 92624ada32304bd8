import { AccError } from '@acc/contract';
import type * as native from '@acc/native';
import { PassThrough } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { SetupProgress } from './progress.js';
import { setup } from './setup.js';

const located = vi.hoisted(() => ({
  addon: undefined as native.AddonFiles | undefined,
  error: undefined as Error | undefined,
}));
const LIBTORCH: native.LibtorchInstall = {
  root: '/torch',
  libDir: '/torch/lib',
  includeDir: '/torch/include',
  version: '2.13.0',
  variant: 'cu130',
  origin: 'python',
};

vi.mock('@acc/native', async (importOriginal) => ({
  ...(await importOriginal<typeof native>()),
  findLibtorch: () => LIBTORCH,
  prebuiltLines: () => [],
  locateAddon: () => located.addon,
  ncclState: () => 'buildable',
  buildAddon: () => Promise.reject(located.error!),
}));
afterEach(() => {
  located.addon = undefined;
});

async function printed(): Promise<string> {
  const output = new PassThrough();
  await setup({}, new SetupProgress(output));
  return String(output.read());
}

it('refuses a system without glibc before it looks for anything', async () => {
  const ofMusl = vi.spyOn(process.report, 'getReport').mockReturnValue({ header: {} } as never);
  const output = new PassThrough();
  try {
    const refusal = { code: 'ACC_PLATFORM_UNSUPPORTED' };
    await expect(setup({}, new SetupProgress(output))).rejects.toMatchObject(refusal);
  } finally {
    ofMusl.mockRestore();
  }
  expect(output.read()).toBeNull();
});

it.each(['ACC_ADDON_BUILD_FAILED', 'ACC_TOOLCHAIN_MISSING', 'ACC_DISK_FULL'])(
  'an addon that was found stays if one with NCCL cannot be built (%s)',
  async (code) => {
    located.error = new AccError(code, 'The build says why.', { help: 'Mend it.' });
    await expect(printed()).rejects.toBe(located.error);
    located.addon = { native: '/addon/acc_native.node', loader: '/addon/acc_loader.node', origin: 'package' };
    const text = await printed();
    expect(text).toContain('One with NCCL could not be built: The build says why.');
    expect(text).toContain('addon, package, /addon/acc_native.node');
  },
);

it.each([
  [true, 25_000, ['10 s', '20 s']],
  [false, 125_000, ['60 s', '120 s']],
])('a step says that it still runs, more often on a terminal (%s)', (isTTY, ms, times) => {
  vi.useFakeTimers();
  try {
    const output = Object.assign(new PassThrough(), { isTTY });
    const progress = new SetupProgress(output);
    progress.step('compiling', '; log: build.log');
    vi.advanceTimersByTime(ms);
    progress.done('addon');
    vi.advanceTimersByTime(ms);
    const lines = String(output.read()).replaceAll('\r\u001b[K', '\n').split('\n');
    const said = times.map((time) => `  still compiling, ${time}`);
    expect(lines.filter((line) => line !== '').slice(0, -1)).toEqual([
      '  compiling; log: build.log',
      ...said,
    ]);
    expect(lines.at(-1)).toBe('');
  } finally {
    vi.useRealTimers();
  }
});

it('an error that is no refusal ends setup', async () => {
  located.addon = { native: '/addon/acc_native.node', loader: '/addon/acc_loader.node', origin: 'package' };
  located.error = new TypeError('a mistake');
  await expect(printed()).rejects.toBe(located.error);
});
