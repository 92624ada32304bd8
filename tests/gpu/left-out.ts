/** Tests of kernels that say nothing about a GPU, relative to the root. One that is not there any more is an error. */
export const LEFT_OUT = [
  {
    file: 'packages/kernels/src/register-backend.test.ts',
    reason: 'it chooses the CPU, which a process can do once',
  },
  { file: 'packages/kernels/src/families/views.test.ts', reason: 'it counts bytes of CPU memory' },
];
