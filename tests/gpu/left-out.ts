/**
 * Tests of kernels that are irrelevant on a GPU, relative to the root. A file that no longer exists
 * is an error.
 */
export const LEFT_OUT = [
  {
    file: 'packages/kernels/src/register-backend.test.ts',
    reason: 'it selects the CPU, and a process can select a device only once',
  },
  {
    file: 'packages/kernels/src/fusion/passes/attention/fuse-attention.test.ts',
    reason: 'recorded attention is replaced on CPUs only: the operator is for host memory',
  },
  { file: 'packages/kernels/src/families/views.test.ts', reason: 'it counts bytes of CPU memory' },
];
