import type { Collective, KernelLayer, Strategy } from '@acc/contract';
import type { StepPipeline } from './step/step-pipeline.js';

/** The members of the running Accelerator that other modules need. */
export interface Running {
  readonly pipeline: StepPipeline;
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
