import { Pack, type PackAttrs, type PackInputs } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { operator } from '@acc/native';
import { joinTensors } from '../families/split-join.js';
import { kernelWithStrings } from '../families/strings.js';

const cat = operator('aten::cat');
const stack = operator('aten::stack');

export const pack = kernelWithStrings<PackInputs, PackAttrs>(
  Pack,
  0,
  ({ inputs, attrs: { axis }, backend }) => {
    const dtype = inputs[0]!.dtype;
    const other = inputs.find((input) => input.dtype !== dtype);
    if (other) {
      throw new AccError(
        'ACC_DTYPE_MISMATCH',
        `Pack: the inputs have different dtypes: ${dtype} and ${other.dtype}.`,
        {
          help: 'Cast them to one dtype with tf.cast().',
        },
      );
    }
    const tensors = inputs.map((input) => backend.native(input));
    const dim = axis < 0 ? axis + inputs[0]!.shape.length + 1 : axis;
    return backend.wrap(joinTensors(tensors, dim, stack, cat), dtype);
  },
);
