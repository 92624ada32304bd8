import { Slice, slice_util, type SliceAttrs, type SliceInputs } from '@tensorflow/tfjs-core';
import { sliceBox, type Cut } from '../families/slices.js';
import { kernelWithStrings } from '../families/strings.js';

export const slice = kernelWithStrings<SliceInputs, SliceAttrs>(
  Slice,
  'x',
  ({ inputs: { x }, attrs, backend }) => {
    // tfjs's types require tensors and single numbers, but its functions accept the values of the
    // attributes.
    const [begin, size] = slice_util.parseSliceParams(
      x as never,
      attrs.begin as number,
      attrs.size as number,
    );
    slice_util.assertParamsValid(x, begin!, size!);
    const cuts: Cut[] = [];
    for (let dim = 0; dim < size!.length; dim++) {
      if (size![dim] === x.shape[dim]) continue;
      const start = begin![dim]!;
      cuts.push({ dim, start, end: start + size![dim]!, step: 1 });
    }
    return sliceBox(backend, x, cuts, size!);
  },
);
