import { backend_util, Prelu, type PreluInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { applyBinary, FLOATS } from '../families/elementwise.js';
import { kernel } from '../kernel.js';

const expand = operator('aten::expand');
const toDtypeOf = operator('aten::to.other');
const scaleNegatives = operator('aten::_prelu_kernel');

/** The result is float32 for every dtype of the inputs. */
export const prelu = kernel<PreluInputs>(Prelu, ({ inputs: { x, alpha }, backend }) => {
  // libtorch broadcasts only alpha to x, tfjs in both directions; libtorch needs equal dtypes.
  const shape = backend_util.assertAndGetBroadcastShape(x.shape, alpha.shape);
  return applyBinary(
    backend,
    x,
    alpha,
    (values, slopes) => {
      using full = expand(values, shape);
      using alike = toDtypeOf(slopes, values);
      return scaleNegatives(full, alike);
    },
    FLOATS,
    'float32',
  );
});
