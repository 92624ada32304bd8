import type { KernelBackend } from '@tensorflow/tfjs-core';
import type { KernelLayerRegistration } from '@acc/contract';
import { portableShards } from '#platform/fixed-results';
import { deferOnCpu } from './cpu-deferred.js';

const BACKEND = 'cpu';

/**
 * tfjs's backend `cpu`. Its kernels are plain JavaScript and run one after the other, so every run
 * gives the same bits.
 */
export const CPU_LAYER: KernelLayerRegistration = {
  backendName: BACKEND,
  slotsOf: (backend: KernelBackend) => ({
    defer: deferOnCpu(backend),
    ...(portableShards && { fixResults: () => portableShards(BACKEND, backend) }),
  }),
};
