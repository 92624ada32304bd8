import { Tile, type TileAttrs, type TileInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { sameData } from '../families/same-data.js';
import { kernelWithStrings } from '../families/strings.js';
import { waitingBroadcast } from '../pending/defer.js';

const expand = operator('aten::expand');
const repeat = operator('aten::repeat');

/** Returns a view if only dims of size 1 are repeated (tf.broadcastTo); else copies. */
export const tile = kernelWithStrings<TileInputs, TileAttrs>(
  Tile,
  'x',
  ({ inputs: { x }, attrs: { reps }, backend }) => {
    if (reps.every((times) => times === 1)) return sameData(backend, x);
    if (reps.every((times, dim) => times === 1 || x.shape[dim] === 1)) {
      const shape = x.shape.map((size, dim) => size * reps[dim]!);
      const later = waitingBroadcast(backend, x, shape);
      if (later) return later;
      return backend.wrap(expand(backend.native(x), shape), x.dtype, backend.keptElements(x));
    }
    return backend.wrap(repeat(backend.native(x), reps), x.dtype);
  },
);
