import { expect, it } from 'vitest';
import { numThreads, operator, tensorFrom, torchVersion, type Tensor } from '@acc/native';
import { tuned } from '../tuning/tuning.js';
import { machineOfGpu, restoreChoices, savedChoices } from './choices.js';

const CONFIGURATION = 'PyTorch built with:\n  - GCC 13\n  - CUDA Runtime 13.0\n  - CuDNN 91.3\n  - Magma 2.6';

it('the choices of a GPU belong to its name, its capability, and the libraries of CUDA', () => {
  const machine = machineOfGpu({ name: 'NVIDIA H100', capability: '9.0' }, CONFIGURATION);
  expect(machine).toBe(`NVIDIA H100 9.0 torch ${torchVersion()}; - CUDA Runtime 13.0; - CuDNN 91.3`);
  expect(machineOfGpu({ name: 'NVIDIA H200', capability: '9.0' }, CONFIGURATION)).not.toBe(machine);
});

it('choices of a GPU are left out on this machine, and its own are used', () => {
  const negate = operator('aten::neg');
  const copy = operator('aten::clone');
  const family = tuned<[Tensor]>({
    name: 'restored',
    candidates: { usual: copy, other: negate },
    // The measured time never leads to another candidate.
    clearly: 0,
    classOf: () => 1,
    nameOf: () => 'any',
    isSmall: () => false,
  });
  using x = tensorFrom(Float32Array.of(1), 'float32', [1]);
  const chosen = { [`restored/any/${numThreads()}`]: 'other' };
  restoreChoices('cpu', { machine: machineOfGpu({ name: 'NVIDIA H100', capability: '9.0' }, ''), chosen });
  expect(family.candidateFor(x)).toBe('usual');
  restoreChoices('cpu', { ...(savedChoices('cpu') as object), chosen });
  expect(family.candidateFor(x)).toBe('other');
});
