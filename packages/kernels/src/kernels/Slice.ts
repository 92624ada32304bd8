import { Slice, slice_util, type SliceAttrs, type SliceInputs, type TensorInfo } from '@tensorflow/tfjs-core';
import { sliceBox, type Cut } from '../families/slices.js';
import { kernelWithStrings } from '../families/strings.js';
import { checkedOnCpu } from '../odd-arguments/as-in-tfjs.js';
import { areCounts } from '../odd-arguments/numbers.js';

/** For begins and sizes that are no counts. */
const onCpu = checkedOnCpu(Slice);

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
    if (!areCounts(begin) || !areCounts(size))
      return onCpu({ inputs: { x }, attrs: { ...attrs }, backend }) as TensorInfo;
    const cuts: Cut[] = [];
    for (let dim = 0; dim < size!.length; dim++) {
      if (size![dim] === x.shape[dim]) continue;
      const start = begin![dim]!;
      cuts.push({ dim, start, end: start + size![dim]!, step: 1 });
    }
    return sliceBox(backend, x, cuts, size!);
  },
);
