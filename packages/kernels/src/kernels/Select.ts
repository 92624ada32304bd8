import { Select, upcastType, type SelectInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const where = operator('aten::where.self');
const reshape = operator('aten::reshape');
const to = operator('aten::to.dtype');

/**
 * Takes elements of `t` where `condition` is true, and of `e` elsewhere. A condition of rank 1
 * selects whole rows.
 */
export const select = kernel<SelectInputs>(Select, ({ inputs: { condition, t, e }, backend }) => {
  const dtype = upcastType(t.dtype, e.dtype);
  using chosen = to(backend.native(condition), 'bool');
  if (condition.shape.length !== 1 || t.shape.length <= 1) {
    return backend.wrap(where(chosen, backend.native(t), backend.native(e)), dtype);
  }
  using rows = reshape(chosen, [condition.shape[0]!, ...t.shape.slice(1).map(() => 1)]);
  return backend.wrap(where(rows, backend.native(t), backend.native(e)), dtype);
});
