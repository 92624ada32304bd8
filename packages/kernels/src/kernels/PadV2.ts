import { PadV2, type PadV2Attrs, type PadV2Inputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { elementOf } from '../families/conversion.js';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

const pad = operator('aten::constant_pad_nd');

export const padV2 = kernel<PadV2Inputs, PadV2Attrs>(
  PadV2,
  ({ inputs: { x }, attrs: { paddings, constantValue }, backend }) => {
    if (paddings.every(([before, after]) => before === 0 && after === 0)) return sameData(backend, x);
    // libtorch counts from the last dim.
    return backend.wrap(
      pad(backend.native(x), paddings.toReversed().flat(), elementOf(constantValue, x.dtype)),
      x.dtype,
    );
  },
);
