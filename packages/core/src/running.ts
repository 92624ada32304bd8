import type { Collective, KernelLayer } from '@acc/contract';
import type { StepPipeline } from './step/step-pipeline.js';

/** The Accelerator that steps go through now, as others need to know it. */
export interface Running {
  readonly pipeline: StepPipeline;
  readonly kernels: KernelLayer;
  readonly collective: Collective;
  freeMemory(): void;
}

let running: Running | undefined;

export function whatRuns(): Running | undefined {
  return running;
}

export function setRunning(accelerator: Running | undefined): void {
  running = accelerator;
}
