import { engine, util, type TensorInfo } from '@tensorflow/tfjs-core';
import type { LocalTensors } from './local-tensors.js';
import { inputsOf } from './run-on-local.js';
import type { CallInputs } from './signature.js';

/**
 * Compares over ranks what a kernel with a cut input is given whole: the batch, or what was computed
 * from it. Weights are not compared. All ranks call it at the same kernel. Returns whether there was
 * something to compare.
 *
 * @throws AccError `ACC_BATCHES_DIFFER`.
 */
export function compareReplicated(inputs: CallInputs, shards: LocalTensors): boolean {
  if (shards.line.isRecording) return false;
  const given = inputsOf(inputs).flatMap(([, x]) => (!shards.isCut(x) && isOfBatch(x) ? [x] : []));
  if (given.length === 0) return false;
  shards.line.requireSame(given);
  return true;
}

/** A float vector is a bias or the like. */
function isOfBatch(x: TensorInfo): boolean {
  if (util.sizeFromShape(x.shape) < 2 || (x.shape.length < 2 && x.dtype !== 'int32')) return false;
  return !Object.values(engine().registeredVariables).some(({ dataId }) => dataId === x.dataId);
}
