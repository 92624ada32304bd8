import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mappedChecksum, mapTensor } from './mapped-tensor.js';
import { liveTensors } from './memory.js';
import { TensorMemory } from './tensor-memory.js';

const elements = Float32Array.from({ length: 3000 }, (_, i) => i);

let folder: string;
let path: string;
let before: number;
beforeEach(async () => {
  before = liveTensors();
  folder = await mkdtemp(join(tmpdir(), 'acc-mapped-'));
  path = join(folder, 'file');
  await writeFile(path, elements);
});
afterEach(async () => {
  expect(liveTensors()).toBe(before);
  await rm(folder, { recursive: true });
});

describe('a tensor in a file', () => {
  it('has the elements from the given position, even if the file is deleted', async () => {
    using x = mapTensor(path, 64, 'float32', [2, 1000])!;
    await rm(path);
    expect(x.shape).toEqual([2, 1000]);
    expect(x.read()).toEqual(elements.subarray(16, 2016));
  });

  it('can be changed without changing the file', async () => {
    using x = mapTensor(path, 0, 'float32', [3000])!;
    using y = mapTensor(path, 0, 'float32', [3000])!;
    using memory = new TensorMemory(x);
    memory.bytes.fill(0);
    expect(x.read()[7]).toBe(0);
    expect(y.read()[7]).toBe(7);
    expect(new Float32Array((await readFile(path)).buffer)[7]).toBe(7);
  });

  it('is undefined if the file is missing or too short', () => {
    expect(mapTensor(path, 4, 'float32', [3000])).toBeUndefined();
    expect(mapTensor(join(folder, 'none'), 0, 'float32', [1])).toBeUndefined();
    expect(mapTensor(path, 0, 'float32', [0])).toBeUndefined();
    expect(mapTensor(path, 2 ** 63, 'float32', [2])).toBeUndefined();
    expect(mapTensor(path, 0, 'float32', [-2, -2])).toBeUndefined();
  });

  it('is undefined if the number of its bytes, in 64 bits, has a small remainder', () => {
    // 2⁶² + 1 elements of four bytes, and 2⁶⁴ + 1 of one byte.
    expect(mapTensor(path, 0, 'float32', [242_243_305, 19_037_413_721])).toBeUndefined();
    expect(mapTensor(path, 0, 'uint8', [274_177, 67_280_421_310_721])).toBeUndefined();
  });

  it('reports lost pages instead of ending the process', async () => {
    using x = mapTensor(path, 64, 'float32', [2900])!;
    const bytes = new Uint8Array(elements.buffer, 64 + 100, 11_000);
    expect(await mappedChecksum(x, 100, 11_000)).toBe(crc32(bytes));
    await truncate(path, 0);
    expect(await mappedChecksum(x, 100, 11_000)).toBeUndefined();
    expect(() => mappedChecksum(x, 1000, 11_000)).toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }) as Error,
    );
  });
});
