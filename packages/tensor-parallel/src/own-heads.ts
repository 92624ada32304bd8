import { customGrad, engine, slice, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionSettings, KernelLayer, RowsAt } from '@acc/contract';
import type { AttendOwnHeads } from '@acc/kernels';
import { headsAreWhole } from './errors.js';
import { ownRows } from './own-rows.js';
import type { Pieces } from './pieces.js';
import { drawApart } from './random.js';

/** The place of the heads in `[batch, heads, length, dim]`. */
const HEADS: RowsAt = { dim: 1, times: 1 };

/**
 * Attention to pieces of sequences in which each rank of the line computes its heads. Exchanges over
 * the axis `context` then move tensors that this rank has: those of its heads.
 */
export function attendOwnHeads(
  pieces: Pieces,
  layer: Pick<KernelLayer, 'random' | 'recorder'>,
): AttendOwnHeads {
  return (attend) => (q, k, v, settings) => {
    const all = [q, k, v];
    for (const x of all) pieces.makePlain(x);
    if (!all.some((x) => pieces.isCut(x))) return attend(q, k, v, settings);
    for (const x of all) requireHeads(x, pieces);
    const own = all.map((x) => headsOf(x, pieces)) as [Tensor, Tensor, Tensor];
    const mask = settings.mask && ownMask(settings.mask, pieces);
    const run = () => attend(...own, { ...settings, mask } as AttentionSettings);
    const attended = settings.dropout > 0 ? drawApart(layer, pieces.line, run) : run();
    return ofAllHeads(attended, pieces);
  };
}

function requireHeads(x: Tensor, pieces: Pieces): void {
  const state = pieces.stateOf(x);
  const isByHeads = state?.kind === 'rows' && state.at.dim === HEADS.dim && state.at.times === 1;
  const isDivisible = x.shape[HEADS.dim]! % pieces.line.count === 0;
  if (!isByHeads && (state?.kind !== 'whole' || !isDivisible)) throw headsAreWhole(x, pieces.line.count);
}

/** Takes this rank's heads. The gradient has this rank's heads of the whole one. */
function headsOf(x: Tensor, pieces: Pieces): Tensor {
  const operator = customGrad((given) => ({
    value: ownRows(given as Tensor, HEADS, pieces),
    gradFunc: (dy: Tensor) => ofAllHeads(dy, pieces),
  }));
  return operator(x);
}

/** A tensor of all heads, of which this rank has `own`. */
function ofAllHeads(own: Tensor, pieces: Pieces): Tensor {
  const operator = customGrad((given) => ({
    value: held(given as Tensor, pieces),
    gradFunc: (dy: Tensor) => headsOf(dy, pieces),
  }));
  return operator(own);
}

function held({ dataId, shape, dtype }: Tensor, pieces: Pieces): Tensor {
  const { backend } = pieces.line;
  backend.incRef(dataId);
  const info = pieces.hold({ dataId, shape, dtype }, { kind: 'rows', at: HEADS }, false);
  return engine().makeTensorFromTensorInfo(info, backend);
}

function ownMask(mask: Tensor, pieces: Pieces): Tensor {
  pieces.makeWhole(mask);
  const heads = mask.rank === 4 ? mask.shape[1]! : 1;
  if (heads === 1) return mask;
  const { index, count } = pieces.line;
  const own = heads / count;
  return slice(mask, [0, index * own, 0, 0], [-1, own, -1, -1]);
}
