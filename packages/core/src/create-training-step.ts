import type { Collective, KernelLayer, Mesh, Plugin, Strategy } from '@acc/contract';
import { featuresOfRun } from '#platform/requirements';
import type { Turns } from './fit/turns.js';
import type { ResolvedOptions } from './options.js';
import { accumulationOf } from './presets/strategy.js';
import { GradientClipping } from './step/clipping.js';
import { CurrentBatch } from './step/current-batch.js';
import type { StepParts } from './step/step-options.js';
import type { StepRanks } from './step/step-ranks.js';
import { TrainedVariables } from './step/trained-variables.js';
import { TrainingStep } from './step/training-step.js';

/** Creates the parts of a training step that others use, too: plugins, and prepared data. */
export function createStepParts(
  options: ResolvedOptions,
  ranks: StepRanks,
  { strategy, kernels }: { readonly strategy: Strategy; readonly kernels: KernelLayer },
): StepParts {
  return {
    batch: new CurrentBatch(ranks),
    trained: new TrainedVariables(),
    accumulation: accumulationOf(options, kernels),
    clipping: new GradientClipping(options.gradientClipping, strategy, kernels.lists),
  };
}

export interface TrainingStepContext {
  readonly ranks: StepRanks;
  readonly parts: StepParts;
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly collective: Collective;
  readonly mesh: Mesh;
  readonly kernels: KernelLayer;
  readonly isDeterministic: boolean;
  readonly turns: Turns;
}

/** Creates the training step of the parts. */
export function createTrainingStep(options: ResolvedOptions, context: TrainingStepContext): TrainingStep {
  const { ranks, parts, strategy, plugins, collective, mesh, kernels, isDeterministic, turns } = context;
  return new TrainingStep({
    ...ranks,
    ...parts,
    strategy,
    plugins,
    collective,
    mixesRanks: !isDeterministic && mixesRanks(mesh, strategy),
    isDeterministic,
    features: featuresOfRun(options, strategy, mesh),
    requireTurn: ([first]) => turns.requireOwn(() => `Gradients of '${first!.name}' were requested`),
    kernels,
    lists: kernels.lists,
  });
}

/** See `PassOptions.mixesRanks`. Ranks exchange shards of rows, or rows for experts. */
function mixesRanks(mesh: Mesh, { traits }: Strategy): boolean {
  if (mesh.gradientRanks.size === 1) return false;
  return traits.mixesRanks === true || mesh.size('context') > 1 || mesh.size('expert') > 1;
}
