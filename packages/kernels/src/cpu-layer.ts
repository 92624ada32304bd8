import type { KernelBackend } from '@tensorflow/tfjs-core';
import type { KernelLayerRegistration } from '@acc/contract';
import { portablePieces } from './pieces/portable-pieces.js';

const BACKEND = 'cpu';

/** tfjs's backend `cpu`: its kernels are plain JavaScript, one after the other, so that their bits are the same in every run. */
export const CPU_LAYER: KernelLayerRegistration = {
  backendName: BACKEND,
  slotsOf: (backend: KernelBackend) => ({ fixResults: () => portablePieces(BACKEND, backend) }),
};
