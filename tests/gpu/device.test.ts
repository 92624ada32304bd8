import { expect, it } from 'vitest';
import { backend, setBackend, tensor1d } from '@tensorflow/tfjs-core';
import { registerAccBackend, type AccBackend } from '@acc/kernels';
import { operator } from '@acc/native';

it('tensors of the backend are on the GPU, which the CPU cannot read', async () => {
  registerAccBackend();
  await setBackend('acc');
  const acc = backend() as AccBackend;
  expect(acc.device).toBe('cuda:0');
  const x = tensor1d([1, 2]);
  using onCpu = operator('aten::full')([2], 1, 'float32', undefined, 'cpu');
  using onGpu = operator('aten::full')([2], 1, 'float32', undefined, 'cuda:0');
  const add = operator('aten::add.Tensor');
  expect(() => add(acc.native(x), onCpu)).toThrowError(
    expect.objectContaining({ code: 'ACC_OPERATOR_FAILED' }),
  );
  using sum = add(acc.native(x), onGpu);
  expect([...sum.read()]).toEqual([2, 3]);
  x.dispose();
});
