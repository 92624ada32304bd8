import { expect, it } from 'vitest';
import { torchVersion } from '@acc/native';
import { machineOfGpu, restoreChoices, savedChoices } from './choices.js';
import { chosenCandidates } from '../tuning/tuning.js';

const CONFIGURATION = 'PyTorch built with:\n  - GCC 13\n  - CUDA Runtime 13.0\n  - CuDNN 91.3\n  - Magma 2.6';

it('the choices of a GPU belong to its name, its capability, and the libraries of CUDA', () => {
  const machine = machineOfGpu({ name: 'NVIDIA H100', capability: '9.0' }, CONFIGURATION);
  expect(machine).toBe(`NVIDIA H100 9.0 torch ${torchVersion()}; - CUDA Runtime 13.0; - CuDNN 91.3`);
  expect(machineOfGpu({ name: 'NVIDIA H200', capability: '9.0' }, CONFIGURATION)).not.toBe(machine);
});

it('choices of another machine are left out', () => {
  const chosen = { 'matmul/[1]': 'other' };
  restoreChoices('cpu', { machine: machineOfGpu({ name: 'A', capability: '9.0' }, ''), chosen });
  expect(chosenCandidates()).not.toHaveProperty(['matmul/[1]']);
  restoreChoices('cpu', { ...(savedChoices('cpu') as object), chosen });
  expect(chosenCandidates()).toHaveProperty(['matmul/[1]']);
});
