import { customGrad, engine, slice, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionSettings, KernelLayer, RowsAt } from '@acc/contract';
import type { AttendLocalHeads } from '@acc/kernels';
import { headsAreFull } from './errors.js';
import { localRows } from './local-rows.js';
import type { LocalTensors } from './local-tensors.js';
import { drawApart } from './random.js';

/** The place of the heads in `[batch, heads, length, dim]`. */
const HEADS: RowsAt = { dim: 1, times: 1 };

/**
 * Attention to shards of sequences in which each rank of the line computes its heads. Exchanges over
 * the axis `context` then move tensors that this rank has: those of its heads.
 */
export function attendLocalHeads(
  shards: LocalTensors,
  layer: Pick<KernelLayer, 'random' | 'recorder'>,
): AttendLocalHeads {
  return (attend) => (q, k, v, settings) => {
    const all = [q, k, v];
    for (const x of all) shards.makePlain(x);
    if (!all.some((x) => shards.isCut(x))) return attend(q, k, v, settings);
    for (const x of all) requireHeads(x, shards);
    const local = all.map((x) => headsOf(x, shards)) as [Tensor, Tensor, Tensor];
    const mask = settings.mask && ownMask(settings.mask, shards);
    const run = () => attend(...local, { ...settings, mask } as AttentionSettings);
    const attended = settings.dropout > 0 ? drawApart(layer, shards.line, run) : run();
    return ofAllHeads(attended, shards);
  };
}

function requireHeads(x: Tensor, shards: LocalTensors): void {
  const state = shards.stateOf(x);
  const isByHeads = state?.kind === 'rows' && state.at.dim === HEADS.dim && state.at.times === 1;
  const isDivisible = x.shape[HEADS.dim]! % shards.line.count === 0;
  if (!isByHeads && (state?.kind !== 'whole' || !isDivisible)) throw headsAreFull(x, shards.line.count);
}

/** Takes this rank's heads. The gradient has this rank's heads of the whole one. */
function headsOf(x: Tensor, shards: LocalTensors): Tensor {
  const operator = customGrad((given) => ({
    value: localRows(given as Tensor, HEADS, shards),
    gradFunc: (dy: Tensor) => ofAllHeads(dy, shards),
  }));
  return operator(x);
}

/** A tensor of all heads, of which this rank has `own`. */
function ofAllHeads(local: Tensor, shards: LocalTensors): Tensor {
  const operator = customGrad((given) => ({
    value: held(given as Tensor, shards),
    gradFunc: (dy: Tensor) => headsOf(dy, shards),
  }));
  return operator(local);
}

function held({ dataId, shape, dtype }: Tensor, shards: LocalTensors): Tensor {
  const { backend } = shards.line;
  backend.incRef(dataId);
  const info = shards.hold({ dataId, shape, dtype }, { kind: 'rows', at: HEADS }, false);
  return engine().makeTensorFromTensorInfo(info, backend);
}

function ownMask(mask: Tensor, shards: LocalTensors): Tensor {
  shards.gatherFull(mask);
  const heads = mask.rank === 4 ? mask.shape[1]! : 1;
  if (heads === 1) return mask;
  const { index, count } = shards.line;
  const local = heads / count;
  return slice(mask, [0, index * local, 0, 0], [-1, local, -1, -1]);
}
