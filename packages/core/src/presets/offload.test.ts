import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { readLaunchEnvironment } from '../environment.js';
import { resolveOptions, type AcceleratorOptions } from '../options.js';
import { collectiveOf } from './collective.js';
import { activeKernels } from './kernels.js';
import { strategyOf } from './strategy.js';

let folder: string;
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'acc-offload-'));
  warnings = [];
  vi.spyOn(console, 'warn').mockImplementation((message: string) => void warnings.push(message));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

describe('offload to host memory, by one process alone', () => {
  const options: NonNullable<AcceleratorOptions['fsdp']>[] = [
    { cpuOffload: true },
    { stage: 2, offload: { optimizer: true } },
  ];

  it.each(options)('is there already on a CPU, which is said: %o', async (fsdp) => {
    const accelerator = await Accelerator.create({ strategy: 'fsdp', fsdp });
    accelerator.freeMemory();
    expect(warnings.filter((each) => each.includes('in host memory already'))).toHaveLength(1);
  });
});

it('offload to files is refused on a GPU', () => {
  const kernels = { ...activeKernels(), device: 'cuda' as const };
  const fsdp = { offload: { optimizer: true, to: folder } };
  expect(() => strategyOf(resolveOptions({ strategy: 'fsdp', fsdp }), 1, kernels)).toThrowError(
    expect.objectContaining({ code: 'ACC_STRATEGY_CANNOT' }),
  );
});

it('an Accelerator that cannot be created keeps no file', async () => {
  const detached: string[] = [];
  let files = 0;
  const options: AcceleratorOptions = {
    strategy: 'fsdp',
    fsdp: { offload: { params: true, optimizer: true, to: folder } },
    plugins: [
      { name: 'first', detach: () => void detached.push('first') },
      {
        name: 'second',
        attach() {
          files = readdirSync(folder).length;
          throw new Error('It cannot attach.');
        },
        detach: () => void detached.push('second'),
      },
    ],
  };
  await expect(Accelerator.create(options)).rejects.toThrow('It cannot attach.');
  expect([files, readdirSync(folder)]).toEqual([1, []]);
  expect(detached).toEqual(['first']);
  const next = await Accelerator.create();
  next.freeMemory();
  tf.disposeVariables();
});

describe('options for GPUs are refused on a CPU', () => {
  it('dataLoader.uploadStream', async () => {
    const created = Accelerator.create({ dataLoader: { uploadStream: true } });
    await expect(created).rejects.toMatchObject({ code: 'ACC_INVALID_OPTION' });
  });

  it('collective.streamWaits, before the ranks meet', async () => {
    const options = resolveOptions({ collective: { streamWaits: true } });
    const place = { ...readLaunchEnvironment({}), rank: 0, size: 2 };
    const joined = collectiveOf(place, options, { kernels: activeKernels(), nativeDevice: 'cpu' });
    await expect(joined).rejects.toMatchObject({ code: 'ACC_INVALID_OPTION' });
  });
});
