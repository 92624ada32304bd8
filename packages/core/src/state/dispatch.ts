import { hasLimits, planDispatch, type DispatchOptions } from '@acc/big-model';
import { matchExactly, together } from '@acc/checkpoint';
import { AccError } from '@acc/contract';
import { activeKernels } from '../presets/kernels.js';
import { requirePath } from '../require-arguments.js';
import { whatRuns } from '../running.js';
import { isPrepared, isSharded, receiversFor, type Weighted } from './model-weights.js';
import { singleStrategy } from '../single-strategy/single-strategy.js';

/**
 * Moves the weights of a model that do not fit in memory to host memory beside a GPU, or to a file.
 * Each is brought in when an operator uses it, and let go when others need the room: those that were
 * used least recently go first. Values that a program or an optimizer assigns are stored.
 *
 * Which weights stay in memory is decided layer by layer, in the order of the model. It may be called
 * before or after `prepare`.
 *
 * @param model A tf.LayersModel, or a list of variables.
 * @returns The model itself.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_INVALID_ARGUMENT`,
 * `ACC_OFFLOAD_FOLDER` if weights do not fit and there is no `offloadFolder`. `ACC_MEMORY_TOO_SMALL`
 * if a layer does not fit. `ACC_ALREADY_DISPATCHED`, `ACC_STRATEGY_CANNOT` for sharded weights,
 * `ACC_WEIGHT_EMPTY`, `ACC_STORAGE_FULL`, `ACC_STORAGE_DENIED`.
 */
export async function dispatchModel<T extends Weighted>(model: T, options: DispatchOptions = {}): Promise<T> {
  const { strategy, processes } = surroundings();
  if (isSharded(model, strategy)) throw shardedAlready('dispatchModel', strategy.name);
  const apply = () => {
    const plan = planDispatch('dispatchModel', model, options, { processes });
    plan.apply();
    return plan;
  };
  await runnerFor(model)(apply, (plan) => plan.undo());
  return model;
}

/**
 * Loads weights by name into a model, one after the other, and moves those that do not fit in memory
 * where `dispatchModel` moves them. So a model from `initEmptyWeights` is loaded that is larger than
 * memory. Weights that have values get others.
 *
 * If the strategy has sharded the weights, every rank calls it and reads the elements that it holds.
 * They are not moved then. Every rank calls it, too, if the model is prepared: if it fails on one
 * rank, it throws on all.
 *
 * If reading fails midway, a model from `initEmptyWeights` is empty again. Weights that had values
 * and had to leave memory are lost: `ACC_WEIGHT_LOST`, until they are loaded again.
 *
 * @param folder As `saveModel` writes it, or one safetensors file.
 * @returns The model itself.
 * @throws AccError As `dispatchModel`. `ACC_WEIGHTS_MISMATCH` with all weights that are missing,
 * surplus or have another shape or dtype, or two with one name; nothing is loaded then. `ACC_WEIGHTS_NOT_FOUND`,
 * `ACC_SAFETENSORS_INVALID`.
 */
export async function loadCheckpointAndDispatch<T extends Weighted>(
  model: T,
  folder: string,
  options: DispatchOptions = {},
): Promise<T> {
  const caller = 'loadCheckpointAndDispatch';
  requirePath(caller, folder);
  const { strategy, kernels, collective, processes } = surroundings();
  const receivers = receiversFor(model, strategy);
  if (isSharded(model, strategy)) {
    const names = collective!.allGatherObject(receivers.map(({ name }) => name)).flat();
    const matched = await together(collective!, async () => {
      if (hasLimits(caller, options)) throw shardedAlready(caller, strategy.name);
      return await matchExactly(receivers, folder, names);
    });
    await together(collective!, () => matched.assign(kernels.state));
    return model;
  }
  const run = runnerFor(model);
  const { plan, matched } = await run(async () => ({
    plan: planDispatch(caller, model, options, { areReplaced: true, processes }),
    matched: await matchExactly(receivers, folder, []),
  }));
  using dispatch = plan;
  const load = async () => {
    try {
      dispatch.apply();
      await matched.assign(kernels.state);
    } catch (error) {
      dispatch.abandon();
      throw error;
    }
  };
  await run(load, () => dispatch.abandon());
  return model;
}

type Work<T> = () => T | Promise<T>;

/** Runs work on all ranks together if the model is prepared, so that no rank waits for one that failed. */
function runnerFor(model: Weighted) {
  const running = whatRuns();
  const areAll = running !== undefined && isPrepared(model, running.trainingStep.trained);
  return async <T>(work: Work<T>, giveUp?: (result: T) => void): Promise<T> =>
    areAll ? await together(running.collective, async () => await work(), giveUp) : await work();
}

/** The strategy, kernels and ranks of the running Accelerator, or their defaults without one. */
function surroundings() {
  const running = whatRuns();
  return {
    strategy: running?.strategy ?? singleStrategy(),
    kernels: running?.kernels ?? activeKernels(),
    collective: running?.collective,
    processes: running?.localSize ?? 1,
  };
}

function shardedAlready(caller: string, strategy: string): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `${caller}: the strategy '${strategy}' has sharded the weights of this model.`,
    {
      help: 'Ranks hold shards of them, so they need less memory already. Leave maxMemory and offloadFolder out, or use the offload option of the strategy.',
    },
  );
}
