import { inferredMap, memoryLimits, moduleSizes, type DispatchOptions } from '@acc/big-model';
import { whatRuns } from '../running.js';
import type { Weighted } from './model-weights.js';

/**
 * Returns where `dispatchModel` would put the weights of each layer: the device of the backend, `cpu`
 * for host memory beside a GPU, or `disk`. Changes nothing. A program may change the result, and give it to
 * `dispatchModel` or `loadCheckpointAndDispatch` as `deviceMap`.
 *
 * @param model A tf.LayersModel, which may be one of `initEmptyWeights`, or a list of variables.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_INVALID_ARGUMENT`;
 * `ACC_MEMORY_TOO_SMALL` if a layer does not fit.
 */
export function inferAutoDeviceMap(
  model: Weighted,
  options: Pick<DispatchOptions, 'maxMemory'> = {},
): Record<string, string> {
  return inferredMap('inferAutoDeviceMap', model, options, { processes: processesHere() });
}

/**
 * Returns the bytes of weights that each device may hold now, as `dispatchModel` takes them without
 * `maxMemory`. A GPU has no limit, because libtorch does not tell how much of its memory is free.
 */
export function getMaxMemory(): Record<string, number> {
  return memoryLimits({ processes: processesHere() });
}

/**
 * Returns the bytes of the weights of each layer by its name. `''` is the whole model.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function computeModuleSizes(model: Weighted): Record<string, number> {
  return moduleSizes('computeModuleSizes', model);
}

const processesHere = (): number => whatRuns()?.localSize ?? 1;
