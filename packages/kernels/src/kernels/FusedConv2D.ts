import { FusedConv2D, type FusedConv2DAttrs, type FusedConv2DInputs } from '@tensorflow/tfjs-core';
import { forward2D } from '../families/conv2d.js';
import { kernel } from '../kernel.js';

export const fusedConv2D = kernel<FusedConv2DInputs, FusedConv2DAttrs>(
  FusedConv2D,
  ({ inputs, attrs, backend }) => forward2D(backend, inputs, attrs, false),
);
