import { engine, type Tensor } from '@tensorflow/tfjs-core';
import type { RowsAt } from '@acc/contract';
import type { LocalTensors } from './local-tensors.js';
import { tensorOf } from './tensor-info.js';

/**
 * This rank's rows of `values`, which may be whole, a partial sum, or rows along another dim. The
 * caller disposes them.
 */
export function localRows(values: Tensor, at: RowsAt, shards: LocalTensors): Tensor {
  const { backend } = shards.line;
  if (!shards.isCut(values)) return engine().makeTensorFromTensorInfo(shards.cut(values, at), backend);
  const state = shards.stateOf(values);
  const isSame = state?.kind === 'rows' && state.at.dim === at.dim && state.at.times === at.times;
  if (isSame) return tensorOf(shards.localShardOf(values), backend);
  if (state?.kind === 'sum') shards.makeRows(values, at, false);
  else shards.gatherFull(values);
  return localRows(values, at, shards);
}
