/**
 * Variables of ranks whose trainings are compared bit by bit, or by their memory. Each training measures
 * which kernels are fastest, and other kernels may have other bits and need more memory.
 */
export const SAME_KERNELS = {
  OMP_NUM_THREADS: '1',
  ACC_KERNELS_TUNE: [
    'matmul=blas',
    ...['convolution', 'convolutionInputGradient', 'convolutionWeightGradient'].map(
      (family) => `${family}=channelsLast`,
    ),
  ].join(),
} as const;
