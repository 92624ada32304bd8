import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { add as addTensors, backend, matMul, setBackend, square, tensor1d, tensor2d } from '@tensorflow/tfjs-core';
import type { AccBackend } from '@acc/kernels';
import { deviceCount, operator } from '@acc/native';
import { countsOf } from './late-device.js';

it('tensors are on the device, and operators compute there', async () => {
  await setBackend('acc');
  const acc = backend() as AccBackend;
  expect(acc.device).toBe('late:0');
  expect(deviceCount('late')).toBe(2);
  const a = tensor2d([[1, 2], [3, 4]]);
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
  expect(await countsOf(() => square(addTensors(x, x)).dispose())).toMatchObject({ reads: 0, waits: 0, uploads: 0 });
  expect(await countsOf(() => x.dataSync())).toMatchObject({ reads: 1, waits: 1, launches: 0 });
  expect(await countsOf(() => tensor1d([3]).dispose())).toMatchObject({ uploads: 1, reads: 0, waits: 0 });
});

it('a host that touches memory of a device is ended, with the size of the tensor and what made it', () => {
  const program = join(import.meta.dirname, 'touch-memory.ts');
  const { signal, stderr } = spawnSync(process.execPath, ['--import', 'tsx', program], { encoding: 'utf8' });
  expect(stderr).toContain(
    'late: the host touched memory of a device: 60 bytes on late:0, made by aten::ones',
  );
  expect(signal).toBe('SIGSEGV');
});
