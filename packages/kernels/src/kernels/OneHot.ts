import { OneHot, type OneHotAttrs, type OneHotInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { elementOf } from '../families/conversion.js';
import { kernel } from '../kernel.js';

const arange = operator('aten::arange');
const choose = operator('aten::where.Scalar');
const equal = operator('aten::eq.Tensor');
const unsqueeze = operator('aten::unsqueeze');

/** An index outside `[0, depth)` gives only `offValue`; libtorch's own one_hot would throw. */
export const oneHot = kernel<OneHotInputs, OneHotAttrs>(
  OneHot,
  ({ inputs: { indices }, attrs: { dtype, depth, onValue, offValue }, backend }) => {
    using places = arange(depth, 'int32');
    using column = unsqueeze(backend.native(indices), -1);
    const isOn = equal(column, places);
    if (onValue === 1 && offValue === 0) return backend.wrap(isOn, dtype);
    using condition = isOn;
    return backend.wrap(choose(condition, elementOf(onValue, dtype), elementOf(offValue, dtype)), dtype);
  },
);
