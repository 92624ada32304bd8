import type { Collective, KernelLayer, Strategy } from '@acc/contract';
import type { TrainingStep } from './step/training-step.js';

/** The members of the running Accelerator that other modules need. */
export interface Running {
  readonly trainingStep: TrainingStep;
  readonly kernels: KernelLayer;
  readonly collective: Collective;
  readonly strategy: Strategy;
  /** The number of ranks on this host. */
  readonly localSize: number;
  freeMemory(): void;
}

let running: Running | undefined;

export function whatRuns(): Running | undefined {
  return running;
}

export function setRunning(accelerator: Running | undefined): void {
  running = accelerator;
}
