import { MirrorPad, type MirrorPadAttrs, type MirrorPadInputs } from '@tensorflow/tfjs-core';
import { operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

const select = operator('aten::index_select');

/**
 * Gathers each padded dim by index: libtorch supports `reflect` only for the last three dims, and
 * no `symmetric`.
 */
export const mirrorPad = kernel<MirrorPadInputs, MirrorPadAttrs>(
  MirrorPad,
  ({ inputs: { x }, attrs: { paddings, mode }, backend }) => {
    let padded: NativeTensor | undefined;
    for (const [dim, [before, after]] of paddings.entries()) {
      if (before === 0 && after === 0) continue;
      using unpadded = padded;
      using indices = mirroredIndices(x.shape[dim]!, before, after, mode);
      padded = select(unpadded ?? backend.native(x), dim, indices);
    }
    return padded ? backend.wrap(padded, x.dtype) : sameData(backend, x);
  },
);

/**
 * The source index of each element along a padded dim. `reflect` does not repeat the border
 * element; `symmetric` does.
 */
function mirroredIndices(
  size: number,
  before: number,
  after: number,
  mode: 'reflect' | 'symmetric',
): NativeTensor {
  const gap = mode === 'reflect' ? 0 : 1;
  const indices = new Int32Array(before + size + after);
  for (let i = 0; i < indices.length; i++) {
    const at = i - before;
    if (at < 0) indices[i] = -at - gap;
    else indices[i] = at < size ? at : (size - 1) * 2 - at + gap;
  }
  return tensorFrom(indices, 'int32', [indices.length]);
}
