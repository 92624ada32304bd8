import { engine, type Tensor } from '@tensorflow/tfjs-core';
import type { RowsAt } from '@acc/contract';
import type { Pieces } from './pieces.js';
import { tensorOf } from './tensor-info.js';

/**
 * This rank's rows of `values`, which may be whole, a partial sum, or rows along another dim. The
 * caller disposes them.
 */
export function ownRows(values: Tensor, at: RowsAt, pieces: Pieces): Tensor {
  const { backend } = pieces.line;
  if (!pieces.isCut(values)) return engine().makeTensorFromTensorInfo(pieces.cut(values, at), backend);
  const state = pieces.stateOf(values);
  const isSame = state?.kind === 'rows' && state.at.dim === at.dim && state.at.times === at.times;
  if (isSame) return tensorOf(pieces.pieceOf(values), backend);
  if (state?.kind === 'sum') pieces.makeRows(values, at, false);
  else pieces.makeWhole(values);
  return ownRows(values, at, pieces);
}
