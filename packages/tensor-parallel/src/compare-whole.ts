import { engine, util, type TensorInfo } from '@tensorflow/tfjs-core';
import type { Pieces } from './pieces.js';
import { inputsOf } from './run-on-piece.js';
import type { CallInputs } from './signature.js';

/**
 * Compares over ranks what a kernel with a cut input is given whole: the batch, or what was computed
 * from it. Weights are not compared. All ranks call it at the same kernel. Returns whether there was
 * something to compare.
 *
 * @throws AccError `ACC_BATCHES_DIFFER`.
 */
export function compareWhole(inputs: CallInputs, pieces: Pieces): boolean {
  if (pieces.line.isRecording) return false;
  const given = inputsOf(inputs).flatMap(([, x]) => (!pieces.isCut(x) && isOfBatch(x) ? [x] : []));
  if (given.length === 0) return false;
  pieces.line.requireSame(given);
  return true;
}

/** A float vector is a bias or the like. */
function isOfBatch(x: TensorInfo): boolean {
  if (util.sizeFromShape(x.shape) < 2 || (x.shape.length < 2 && x.dtype !== 'int32')) return false;
  return !Object.values(engine().registeredVariables).some(({ dataId }) => dataId === x.dataId);
}
