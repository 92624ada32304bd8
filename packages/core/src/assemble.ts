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
import { installGradientDriver, runForward } from '@acc/tape';
import { TrackerBus } from '@acc/tracker';
import type { LaunchEnvironment } from './environment.js';
import { FitProgress } from './fit/fit-progress.js';
import { Turns } from './fit/turns.js';
import type { Joinable } from './join/joinable.js';
import { Lifetime } from './lifetime.js';
import { comparedOptions, type ResolvedOptions } from './options.js';
import { Pipelines } from '#platform/pipelining';
import { forwardRanks, shareRandomStates } from '#platform/several-ranks';
import { DataPreparation, type DataPreparationOptions } from './prepare/prepare-data.js';
import { placeInData } from './prepare/place-in-data.js';
import { Preparation } from './prepare/prepare.js';
import { meshOf } from './presets/mesh.js';
import { builtInPlugins, precisionOf } from './presets/plugins.js';
import { strategyOf } from './presets/strategy.js';
import { shareOrders, chosenOrderSeed } from './random/data-orders.js';
import { installRandom, seedOfPiece } from './random/math-random.js';
import { Boundary } from './state/boundary.js';
import { RunCheckpoints } from './state/run-checkpoints.js';
import { deepenStackTraces } from './stack-depth.js';
import { createPipeline } from './step/create-pipeline.js';
import type { StepPipeline } from './step/step-pipeline.js';
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
  readonly pipeline: StepPipeline;
  readonly preparation: Preparation;
  readonly pipelines: Pipelines;
  readonly restoreGradients: () => void;
  readonly precision: PrecisionPlugin | undefined;
  readonly tracking: Tracking;
  readonly checkpoints: RunCheckpoints;
  readonly atBoundary: () => Promise<void>;
  readonly stopListening: () => void;
  readonly determinism: Determinism | undefined;
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
  const { environment, kernels, joinable, determinism, collective, strategy, tensor, mesh } = given;
  const { rank, size } = environment;
  const precision = precisionOf(resolved, kernels);
  const tracking = { bus: new TrackerBus({ rank, size }), options: resolved };
  const later: Later = () => ({ pipeline, preparation, data });
  const surroundings = { size, rank, tracking, determinism, precision, kernels, tensor };
  const plugins = pluginsOf(resolved, surroundings, later);
  const turns = new Turns(size > 1 || resolved.gradientAccumulationSteps > 1);
  const context = { collective, mesh, kernels, isDeterministic: determinism !== undefined };
  const attach = attaching(context, () => pipeline);
  for (const each of [strategy, ...plugins]) {
    attach(each);
    attached.push(each);
  }
  const { gradientRanks } = mesh;
  const countRanks = () => (joinable.isJoining ? joinable.countActive() : gradientRanks.size);
  const pipeline = createPipeline(resolved, { ...context, strategy, plugins, countRanks, turns });
  const boundary = new Boundary();
  const { atBoundary } = boundary;
  const onBatch = batchListener(turns, determinism, () => pipeline);
  const data = new DataPreparation({ ...placeInData(mesh), options: resolved, onBatch, atBoundary });
  const pipelines = pipelinesOf(resolved, { ...context, strategy, pipeline }, later);
  const made = { pipeline, pipelines, data, fit: new FitProgress(), turns };
  const shared = { ...given, ...made, atBoundary, plugins };
  const { seed, dataLoader, checkpointEvery } = resolved;
  const { splitBatches } = dataLoader;
  const preparation = new Preparation({ ...shared, splitBatches, seed, checkpointEvery });
  const alike = tensor && mesh.along('tensor');
  const checkpoints = new RunCheckpoints({ ...shared, preparation, alike }, resolved);
  shareOrders(collective, chosenOrderSeed() ?? seed);
  installRandom((given) => kernels.random?.seed(seedOfPiece(given, mesh.coordinates.context ?? 0)));
  if (alike) shareRandomStates(alike, kernels);
  const restoreGradients = installOn(pipeline, { ...context, strategy, turns });
  const ending = { joinable, pipeline, collective, checkpoints, bus: tracking.bus };
  const stopListening = boundary.listen(resolved.checkpoint, ending);
  const lifetime = new Lifetime();
  const own = { lifetime, preparation, restoreGradients, precision, tracking, checkpoints, stopListening };
  return { ...shared, ...own };
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

/** Gives a strategy or a plugin its context. The pipeline exists when steps run. */
function attaching(
  context: Omit<StrategyContext, 'batchRows' | 'runForward'>,
  pipeline: () => StepPipeline,
): (participant: Participant) => void {
  const batchRows = () => pipeline().batch;
  const runLater: RunForward = (f, xs, options) => runForward(f, xs, pipeline(), options);
  return (participant) => participant.attach?.({ ...context, batchRows, runForward: runLater });
}

/** Components that plugins use when steps run. They exist by then. */
type Later = () => Pick<Components, 'pipeline' | 'preparation' | 'data'>;

type Surrounding = 'tracking' | 'determinism' | 'precision' | 'kernels';

interface PluginSurroundings extends Pick<Components, Surrounding> {
  readonly tensor: TensorParallel | undefined;
  readonly rank: number;
  readonly size: number;
}

/** All plugins, in the order of their registration. */
function pluginsOf(
  resolved: ResolvedOptions,
  { rank, size, tracking, determinism, precision, kernels, tensor }: PluginSurroundings,
  later: Later,
): Plugin[] {
  const norm = (grads: NamedTensorMap) => later().pipeline.clipping.normBefore(grads);
  const used = {
    hasModel: () => later().preparation.models.size > 0,
    hasData: () => later().data.hasData,
    hasCuts: () => size > 1 && later().pipeline.trained.known.some((each) => cutOf(each)?.axis === 'tensor'),
    hasTrackers: () => tracking.bus.isRunning,
    isInWindow: () => later().pipeline.accumulation.isInWindow,
  };
  const ours = [
    determinism?.plugin,
    precision,
    withoutEffect(resolved, used, (message) => rank === 0 && console.warn(message)),
  ];
  return [
    ...builtInPlugins(resolved, kernels, rank === 0),
    ...trackingPlugins(resolved, tracking.bus, { size, norm }),
    ...(tensor ? [tensor.plugin] : []),
    ...ours.filter((plugin) => plugin !== undefined),
    ...resolved.plugins,
  ];
}

/** The models that are trained in stages. */
function pipelinesOf(
  { checkpointEvery, pipeline: defaults }: ResolvedOptions,
  context: Pick<Components, 'collective' | 'mesh' | 'kernels' | 'strategy' | 'pipeline'>,
  later: Later,
): Pipelines {
  return new Pipelines({
    ...{ ...context, checkpointEvery, defaults },
    runForward: (f, xs, options) => runForward(f, xs, context.pipeline, options),
    optimizers: () => later().preparation.optimizers,
  });
}

/** Prepared data reports its batches here. Later steps are weighted by the rows of the batch. */
function batchListener(
  turns: Turns,
  determinism: Determinism | undefined,
  pipeline: () => StepPipeline,
): DataPreparationOptions['onBatch'] {
  return (batch, tensors) => {
    // A batch of a loop that does not train does not replace the batch of the running fit.
    if (turns.isOutside) return;
    determinism?.beginBatch(batch, tensors);
    pipeline().batch = batch;
  };
}

interface InstallOptions extends Pick<Components, 'strategy' | 'collective' | 'mesh'> {
  readonly turns: Turns;
  readonly isDeterministic: boolean;
}

/**
 * Makes gradients go through the pipeline. Returns a function that restores tfjs's own functions.
 */
function installOn(pipeline: StepPipeline, options: InstallOptions): () => void {
  const { strategy, turns, isDeterministic } = options;
  const restoreDriver = installGradientDriver(pipeline, forwardRanks(strategy, options));
  const unwatch = turns.isNeeded && !isDeterministic ? pipeline.lossItems.watch() : undefined;
  const flattenStackTraces = deepenStackTraces();
  return () => {
    restoreDriver();
    unwatch?.();
    flattenStackTraces();
  };
}
