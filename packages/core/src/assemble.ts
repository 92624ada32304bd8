import type { NamedTensorMap } from '@tensorflow/tfjs-core';
import {
  cutOf,
  requireSameOptions,
  type Collective,
  type KernelLayer,
  type Mesh,
  type Plugin,
  type PrecisionPlugin,
  type RunForward,
  type Strategy,
  type StrategyContext,
} from '@acc/contract';
import type { Determinism } from '@acc/deterministic';
import { installGradientDriver, runForward, type FindRanks } from '@acc/tape';
import { TrackerBus } from '@acc/tracker';
import type { LaunchEnvironment } from './environment.js';
import { FitProgress } from './fit/fit-progress.js';
import { Turns } from './fit/turns.js';
import type { Joinable } from './join/joinable.js';
import { Lifetime } from './lifetime.js';
import { comparedOptions, type ResolvedOptions } from './options.js';
import { Pipelines } from '#platform/pipelining';
import { Profiler } from '#platform/profiling';
import { forwardRanks, shareRandomStates, unpreparedData } from '#platform/several-ranks';
import { resolvePipelineOptions } from './pipelined/options.js';
import { DataPreparation, type DataPreparationOptions } from './prepare/prepare-data.js';
import { placeInData } from './prepare/place-in-data.js';
import { variablesOf } from './prepare/model-weights.js';
import { Preparation } from './prepare/prepare.js';
import { PreparedObjects } from './prepare/prepared-objects.js';
import { meshOf } from './presets/mesh.js';
import { builtInPlugins, dtypeOfProducts, precisionOf } from './presets/plugins.js';
import { strategyOf } from './presets/strategy.js';
import { profiledTraining } from './profiled-training.js';
import { shareOrders, chosenOrderSeed } from './random/data-orders.js';
import { installRandom, seedOfShard } from './random/math-random.js';
import { Boundary } from './state/boundary.js';
import { RunCheckpoints } from './state/run-checkpoints.js';
import { deepenStackTraces } from './stack-depth.js';
import { createStepParts, createTrainingStep } from './create-training-step.js';
import type { CurrentBatch } from './step/current-batch.js';
import type { StepParts } from './step/step-options.js';
import type { TrainingStep } from './step/training-step.js';
import { tensorParallel } from '#platform/strategies';
import type { TensorParallel } from '@acc/tensor-parallel';
import type { Tracking } from './tracking/start-trackers.js';
import { trackingPlugins } from './tracking/tracking-plugins.js';
import { withoutEffect } from './without-effect.js';

/** The objects that an Accelerator is composed of. */
export interface Components {
  readonly environment: LaunchEnvironment;
  readonly kernels: KernelLayer;
  readonly collective: Collective;
  readonly mesh: Mesh;
  readonly joinable: Joinable;
  readonly data: DataPreparation;
  readonly strategy: Strategy;
  readonly trainingStep: TrainingStep;
  readonly preparation: Preparation;
  readonly pipelines: Pipelines;
  readonly restoreGradients: () => void;
  readonly precision: PrecisionPlugin | undefined;
  readonly tracking: Tracking;
  readonly checkpoints: RunCheckpoints;
  readonly atBoundary: (isEnd?: boolean) => Promise<void>;
  readonly stopListening: () => void;
  readonly determinism: Determinism | undefined;
  readonly profiler: Profiler;
  readonly lifetime: Lifetime;
}

/** Creates the components of an Accelerator and installs them. */
export function assemble(
  resolved: ResolvedOptions,
  given: Pick<Components, 'environment' | 'kernels' | 'joinable' | 'determinism'>,
): Components {
  const { environment, kernels, joinable, determinism } = given;
  const { size } = environment;
  const collective = determinism?.collective(joinable.collective) ?? joinable.collective;
  const inner = comparedStrategy(resolved, { size, kernels, determinism, collective });
  const mesh = meshOf(resolved, collective, environment);
  // A strategy of the program uses the axis itself, or leaves it.
  const isOurs = typeof resolved.strategy !== 'object';
  const tensor =
    isOurs && mesh.size('tensor') > 1 ? tensorParallel(inner, mesh.gradientRanks.size === 1) : undefined;
  const strategy = tensor?.strategy ?? inner;
  const attached: Participant[] = [];
  try {
    return assembleOn(resolved, { ...given, collective, strategy, tensor, mesh }, attached);
  } catch (error) {
    for (const each of attached) each.detach?.();
    mesh.close();
    throw error;
  }
}

type Base = Pick<Components, 'environment' | 'kernels' | 'joinable' | 'determinism'> &
  Pick<Components, 'collective' | 'strategy' | 'mesh'> & { readonly tensor: TensorParallel | undefined };

/** @param attached Gets what was attached. */
function assembleOn(resolved: ResolvedOptions, given: Base, attached: Participant[]): Components {
  const { joinable, kernels, collective, strategy, tensor, mesh, determinism } = given;
  const training = trainingOf(resolved, given);
  const { trainingStep, plugins, data, turns, boundary, tracking, prepared, profiler } = training;
  const isDeterministic = determinism !== undefined;
  const attach = attaching({ collective, mesh, kernels, isDeterministic }, trainingStep);
  for (const each of [strategy, ...plugins]) {
    attach(each);
    attached.push(each);
  }
  // It creates groups, so all ranks come here together.
  const ranks = forwardRanks(strategy, { collective, mesh });
  const pipelines = pipelinesOf(resolved, { ...given, trainingStep, prepared });
  const { atBoundary } = boundary;
  const created = { trainingStep, pipelines, data, profiler, fit: new FitProgress(), turns };
  const shared = { ...given, ...created, atBoundary, plugins };
  const { seed, dataLoader, checkpointEvery } = resolved;
  const { splitBatches } = dataLoader;
  const preparation = new Preparation({ ...shared, prepared, splitBatches, seed, checkpointEvery });
  const alike = tensor && mesh.along('tensor');
  const checkpoints = new RunCheckpoints({ ...shared, preparation, alike }, resolved);
  shareOrders(collective, chosenOrderSeed() ?? seed);
  installRandom((given) => kernels.random?.seed(seedOfShard(given, mesh.coordinates.context ?? 0)));
  if (alike) shareRandomStates(alike, kernels);
  const restoreGradients = installOn(trainingStep, { ranks, turns, isDeterministic });
  const ending = { joinable, trainingStep, collective, checkpoints, bus: tracking.bus };
  const stopListening = boundary.listen(resolved.checkpoint, ending);
  const { precision } = training;
  const lifetime = new Lifetime();
  const own = { lifetime, preparation, restoreGradients, precision, tracking, checkpoints, stopListening };
  return { ...shared, ...own };
}

/** The training step, with the data and the plugins that use its parts. Nothing is attached yet. */
function trainingOf(resolved: ResolvedOptions, given: Base) {
  const { environment, kernels, joinable, determinism, collective, strategy, mesh } = given;
  const { rank, size, localSize } = environment;
  const { dataRanks, gradientRanks } = mesh;
  const countRanks = () => (joinable.isJoining ? joinable.countActive() : gradientRanks.size);
  const ranks = { dataRanks, gradientRanks, countRanks };
  const parts = createStepParts(resolved, ranks, given);
  const turns = new Turns(size > 1 || resolved.gradientAccumulationSteps > 1);
  const boundary = new Boundary();
  const onBatch = batchListener(turns, determinism, parts.batch);
  const { atBoundary } = boundary;
  const data = new DataPreparation({ ...placeInData(mesh), options: resolved, onBatch, atBoundary });
  const precision = precisionOf(resolved);
  parts.trained.onNew = (variables) => precision?.prepared?.(variables);
  const tracking = { bus: new TrackerBus({ rank, size }), options: resolved };
  const prepared = new PreparedObjects();
  const dtype = dtypeOfProducts(resolved);
  const profiled = profiledTraining(parts.trained, prepared);
  const profiler = new Profiler({
    ...{ rank, size, localSize, collective },
    kernels,
    dtype,
    training: profiled,
  });
  const surroundings = { ...given, tracking, precision, parts, data, prepared, boundary, profiler };
  // The first plugin is the outermost, so its times include those of the others.
  const plugins = [profiler.plugin, ...pluginsOf(resolved, surroundings)];
  const isDeterministic = determinism !== undefined;
  const context = { ranks, parts, collective, mesh, kernels, strategy, plugins, isDeterministic, turns };
  const trainingStep = createTrainingStep(resolved, context);
  return { trainingStep, plugins, data, turns, boundary, precision, tracking, prepared, profiler };
}

/**
 * The strategy, after all ranks have compared their options.
 *
 * @throws AccError `ACC_OPTIONS_DIFFER`.
 */
function comparedStrategy(
  resolved: ResolvedOptions,
  {
    size,
    kernels,
    determinism,
    collective,
  }: Pick<Components, 'kernels' | 'determinism' | 'collective'> & { readonly size: number },
): Strategy {
  const chosen = strategyOf(resolved, size, kernels);
  const strategy = determinism?.strategy(chosen) ?? chosen;
  const compared = { strategy: strategy.name, ...comparedOptions(resolved), engine: kernels.backendName };
  requireSameOptions('AcceleratorOptions', compared, collective);
  return strategy;
}

/** A strategy or a plugin. */
type Participant = Pick<Plugin, 'attach' | 'detach'>;

/** Gives a strategy or a plugin its context. */
function attaching(
  context: Omit<StrategyContext, 'batchRows' | 'runForward'>,
  trainingStep: TrainingStep,
): (participant: Participant) => void {
  const batchRows = () => trainingStep.batch;
  const run: RunForward = (f, xs, options) => runForward(f, xs, trainingStep, options);
  return (participant) => participant.attach?.({ ...context, batchRows, runForward: run });
}

interface PluginSurroundings extends Base {
  readonly tracking: Tracking;
  readonly precision: PrecisionPlugin | undefined;
  readonly parts: StepParts;
  readonly data: DataPreparation;
  readonly prepared: PreparedObjects;
  readonly boundary: Boundary;
  readonly profiler: Profiler;
}

/** All plugins, in the order of their registration. */
function pluginsOf(resolved: ResolvedOptions, given: PluginSurroundings): Plugin[] {
  const { environment, tracking, determinism, precision, kernels, tensor, strategy } = given;
  const { dataRanks } = given.mesh;
  const { parts, data, prepared } = given;
  const { rank, size } = environment;
  const warn = (message: string) => rank === 0 && console.warn(message);
  const norm = (grads: NamedTensorMap) => parts.clipping.normBefore(grads);
  const watch: Profiler['watch'] = (window) => given.profiler.watch(window);
  const used = {
    hasModel: () => prepared.models.size > 0,
    hasData: () => data.hasData,
    hasCuts: () => size > 1 && parts.trained.known.some((each) => cutOf(each)?.axis === 'tensor'),
    hasTrackers: () => tracking.bus.isRunning,
    isInWindow: () => parts.accumulation.isInWindow,
  };
  const ours = [
    determinism?.plugin,
    precision,
    { name: 'boundary', afterStep: () => given.boundary.beat() },
    withoutEffect(resolved, used, warn),
    dataRanks.size > 1 && !strategy.traits.isLocal
      ? unpreparedData({
          ranks: dataRanks,
          hasPreparedBatch: () => parts.batch.rows !== undefined,
          isJoining: () => given.joinable.isJoining,
          warn,
        })
      : undefined,
  ];
  return [
    ...builtInPlugins(resolved, kernels, rank === 0),
    ...trackingPlugins(resolved, tracking.bus, { size, norm, watch, strategy: strategy.name }),
    ...(tensor ? [tensor.plugin] : []),
    ...ours.filter((plugin) => plugin !== undefined),
    ...resolved.plugins,
  ];
}

/** The models that are trained in stages. */
function pipelinesOf(
  { checkpointEvery, pipeline: defaults }: ResolvedOptions,
  { collective, mesh, kernels, strategy, trainingStep, prepared }: Base & Trained,
): Pipelines {
  return new Pipelines({
    ...{ collective, mesh, kernels, strategy, trainingStep, prepared, checkpointEvery },
    settingsOf: (given) => resolvePipelineOptions(given, defaults ?? {}),
    asksFit: defaults !== undefined,
    requirePrepared: (model) => trainingStep.trained.require('pipelined', variablesOf(model)),
    runForward: (f, xs, options) => runForward(f, xs, trainingStep, options),
  });
}

interface Trained {
  readonly trainingStep: TrainingStep;
  readonly prepared: PreparedObjects;
}

/** Prepared data reports its batches here. Later steps are weighted by the rows of the batch. */
function batchListener(
  turns: Turns,
  determinism: Determinism | undefined,
  current: CurrentBatch,
): DataPreparationOptions['onBatch'] {
  return (batch, tensors) => {
    // A batch of a loop that does not train does not replace the batch of the running fit.
    if (turns.isOutside) return;
    determinism?.beginBatch(batch, tensors);
    current.rows = batch;
  };
}

interface InstallOptions {
  readonly ranks: FindRanks | undefined;
  readonly turns: Turns;
  readonly isDeterministic: boolean;
}

/**
 * Makes gradients go through the training step. Returns a function that restores tfjs's own functions.
 */
function installOn(trainingStep: TrainingStep, options: InstallOptions): () => void {
  const { ranks, turns, isDeterministic } = options;
  const restoreDriver = installGradientDriver(trainingStep, ranks);
  const unwatch = turns.isNeeded && !isDeterministic ? trainingStep.lossItems.watch() : undefined;
  const flattenStackTraces = deepenStackTraces();
  return () => {
    restoreDriver();
    unwatch?.();
    flattenStackTraces();
  };
}
