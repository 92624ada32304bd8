import {
  div,
  Mean,
  util,
  type GradConfig,
  type MeanAttrs,
  type NamedAttrMap,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { expandOver } from './expand.js';

/** dx is dy divided by the number of averaged values, repeated over the averaged axes. */
export const meanGradient: GradConfig = {
  kernelName: Mean,
  inputsToSave: ['x'],
  gradFunc: (dy: Tensor | Tensor[], [x]: Tensor[], attrs: NamedAttrMap) => {
    const { axis } = attrs as unknown as MeanAttrs;
    const axes = util.parseAxisParam(axis, x!.shape);
    const count = util.sizeFromShape(axes.map((dim) => x!.shape[dim]!));
    return { x: () => expandOver(div(dy as Tensor, count), x!.shape, axes) };
  },
};
