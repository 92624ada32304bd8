import type { Collective, KernelLayer, Mesh, Plugin, Strategy } from '@acc/contract';
import { featuresOfRun } from '#platform/requirements';
import type { Turns } from '../fit/turns.js';
import type { ResolvedOptions } from '../options.js';
import { accumulationOf } from '../presets/strategy.js';
import { GradientClipping } from './clipping.js';
import { StepPipeline } from './step-pipeline.js';

export interface PipelineContext {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly collective: Collective;
  readonly mesh: Mesh;
  readonly kernels: KernelLayer;
  readonly countRanks: () => number;
  readonly isDeterministic: boolean;
  readonly turns: Turns;
}

/** Creates the pipeline with accumulation and clipping as the options say. */
export function createPipeline(options: ResolvedOptions, context: PipelineContext): StepPipeline {
  const { strategy, plugins, collective, mesh, kernels, countRanks, isDeterministic, turns } = context;
  return new StepPipeline({
    strategy,
    plugins,
    collective,
    dataRanks: mesh.dataRanks,
    gradientRanks: mesh.gradientRanks,
    mixesRanks: !isDeterministic && mixesRanks(mesh, strategy),
    countRanks,
    isDeterministic,
    features: featuresOfRun(options, strategy, mesh),
    requireTurn: ([first]) => turns.requireOwn(() => `Gradients of '${first!.name}' were requested`),
    kernels,
    lists: kernels.lists,
    accumulation: accumulationOf(options, kernels),
    clipping: new GradientClipping(options.gradientClipping, strategy, kernels.lists),
  });
}

/** See `PassOptions.mixesRanks`. Ranks exchange pieces of rows, or rows for experts. */
function mixesRanks(mesh: Mesh, { traits }: Strategy): boolean {
  if (mesh.gradientRanks.size === 1) return false;
  return traits.mixesRanks === true || mesh.size('context') > 1 || mesh.size('expert') > 1;
}
