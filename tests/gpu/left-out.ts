/**
 * Tests of kernels that are irrelevant on a GPU, relative to the root. A file that no longer exists
 * is an error.
 */
export const LEFT_OUT = [
  {
    file: 'packages/kernels/src/register-backend.test.ts',
    reason: 'it chooses the CPU, which a process can do once',
  },
  { file: 'packages/kernels/src/families/views.test.ts', reason: 'it counts bytes of CPU memory' },
];
