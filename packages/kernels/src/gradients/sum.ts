import {
  Sum,
  util,
  type GradConfig,
  type NamedAttrMap,
  type SumAttrs,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { expandOver } from './expand.js';

/** dx repeats dy over the axes that were summed. */
export const sumGradient: GradConfig = {
  kernelName: Sum,
  inputsToSave: ['x'],
  gradFunc: (dy: Tensor | Tensor[], [x]: Tensor[], attrs: NamedAttrMap) => {
    const { axis } = attrs as unknown as SumAttrs;
    const axes = util.parseAxisParam(axis, x!.shape);
    return { x: () => expandOver(dy as Tensor, x!.shape, axes) };
  },
};
