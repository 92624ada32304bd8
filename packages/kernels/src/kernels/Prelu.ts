import { backend_util, Prelu, type PreluInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { applyBinary, FLOATS } from '../families/elementwise.js';
import { kernel } from '../kernel.js';

const expand = operator('aten::expand');
const toDtypeOf = operator('aten::to.other');
const scaleNegatives = operator('aten::_prelu_kernel');

/** float32, whatever the inputs' dtypes. */
export const prelu = kernel<PreluInputs>(Prelu, ({ inputs: { x, alpha }, backend }) => {
  // libtorch broadcasts alpha to x, tfjs both ways; libtorch wants one dtype.
  const shape = backend_util.assertAndGetBroadcastShape(x.shape, alpha.shape);
  return applyBinary(
    backend,
    x,
    alpha,
    (values, slopes) => {
      using whole = expand(values, shape);
      using alike = toDtypeOf(slopes, values);
      return scaleNegatives(whole, alike);
    },
    FLOATS,
    'float32',
  );
});
