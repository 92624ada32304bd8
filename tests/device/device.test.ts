import { afterEach, describe, expect, it } from 'vitest';
import {
  add as addTensors,
  backend,
  matMul,
  setBackend,
  square,
  tensor1d,
  tensor2d,
} from '@tensorflow/tfjs-core';
import type { AccBackend } from '@acc/kernels';
import { deviceCount, operator, operatorInPlace } from '@acc/native';
import { countsOf, runProgram, setDelays } from './late-device.js';

it('tensors are on the device, and operators compute there', async () => {
  await setBackend('acc');
  const acc = backend() as AccBackend;
  expect(acc.device).toBe('late:0');
  expect(deviceCount('late')).toBe(2);
  const a = tensor2d([
    [1, 2],
    [3, 4],
  ]);
  const product = matMul(a, a);
  expect([...product.dataSync()]).toEqual([7, 10, 15, 22]);
  expect([...(await product.data())]).toEqual([7, 10, 15, 22]);
  a.dispose();
  product.dispose();
});

it('tensors of two devices cannot be added', () => {
  const acc = backend() as AccBackend;
  const x = tensor1d([1, 2]);
  const add = operator('aten::add.Tensor');
  for (const device of ['cpu', 'late:1']) {
    using other = operator('aten::full')([2], 1, 'float32', undefined, device);
    expect(() => add(acc.native(x), other)).toThrowError(/same device/);
  }
  using here = operator('aten::full')([2], 1, 'float32', undefined, 'late:0');
  using sum = add(acc.native(x), here);
  expect([...sum.read()]).toEqual([2, 3]);
  x.dispose();
});

it('counts launches, uploads and reads', async () => {
  const x = tensor1d([1, 2]);
  expect(await countsOf(() => square(addTensors(x, x)).dispose())).toMatchObject({
    reads: 0,
    waits: 0,
    uploads: 0,
  });
  expect(await countsOf(() => x.dataSync())).toMatchObject({ reads: 1, waits: 1, launches: 0 });
  expect(await countsOf(() => tensor1d([3]).dispose())).toMatchObject({ uploads: 1, reads: 0, waits: 0 });
});

it('a host that touches memory of a device is ended, with the size of the tensor and what made it', () => {
  const { signal, stderr } = runProgram('touch-memory.ts');
  expect(stderr).toContain(
    'late: the host touched memory of a device: 60 bytes on late:0, made by aten::ones',
  );
  expect(signal).toBe('SIGSEGV');
});

describe('streams that run late', () => {
  afterEach(() => setDelays(0, 0));

  it.each([1, 2, 3])('compute in order: seed %i', (seed) => {
    setDelays(seed, 400);
    const add = operatorInPlace('aten::add_.Tensor');
    using sum = operator('aten::zeros')([64]);
    for (let i = 1; i <= 40; i++) {
      // Each is freed before it was read.
      using step = operator('aten::full')([64], i, 'float32');
      using doubled = operator('aten::mul.Scalar')(step, 2);
      add(sum, doubled);
    }
    expect([...sum.read()]).toEqual(Array<number>(64).fill(40 * 41));
  });

  it('report an error in a call that waits, and in every later one', () => {
    const { stdout, stderr, status } = runProgram('late-failure.ts');
    expect(status, stderr).toBe(0);
    const { call, read, innocent } = JSON.parse(stdout) as Record<string, string>;
    expect(call).toBe('returned');
    for (const later of [read, innocent]) {
      expect(later).toContain('late: an earlier operator failed on the device');
      expect(later).toContain('index 7 is out of bounds');
    }
  });
});
