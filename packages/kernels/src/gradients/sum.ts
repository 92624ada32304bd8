import {
  Sum,
  util,
  type GradConfig,
  type NamedAttrMap,
  type SumAttrs,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { expandOver } from './expand.js';

/** dx is dy repeated over the summed axes. */
export const sumGradient: GradConfig = {
  kernelName: Sum,
  inputsToSave: ['x'],
  gradFunc: (dy: Tensor | Tensor[], [x]: Tensor[], attrs: NamedAttrMap) => {
    const { axis } = attrs as unknown as SumAttrs;
    const axes = util.parseAxisParam(axis, x!.shape);
    return { x: () => expandOver(dy as Tensor, x!.shape, axes) };
  },
};
