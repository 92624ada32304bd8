import type { Collective, KernelLayer, Plugin, Strategy } from '@acc/contract';
import type { ResolvedOptions } from '../options.js';
import { accumulationOf } from '../presets.js';
import { GradientClipping } from './clipping.js';
import { StepPipeline } from './step-pipeline.js';

export interface PipelineParts {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly collective: Collective;
  readonly kernels: KernelLayer;
  readonly countRanks: () => number;
  readonly isDeterministic: boolean;
}

/** The pipeline with what the options say of windows and clipping. */
export function createPipeline(options: ResolvedOptions, parts: PipelineParts): StepPipeline {
  const { strategy, plugins, collective, kernels, countRanks, isDeterministic } = parts;
  return new StepPipeline({
    strategy,
    plugins,
    collective,
    countRanks,
    isDeterministic,
    recorder: kernels.recorder,
    accumulation: accumulationOf(options, kernels),
    clipping: new GradientClipping(options.gradientClipping, strategy, kernels.lists),
  });
}
