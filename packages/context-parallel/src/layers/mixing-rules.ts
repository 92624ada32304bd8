import { activation, batchNormalization, concatenate, dense, dot, dropout } from './axes.js';
import { layerNormalization, merge, prelu, softmax, spatialDropout, timeDistributed } from './axes.js';
import type { Rule } from './layer-use.js';
import { flatten, permute, repeatVector, reshape } from './shapes.js';
import { convolution, globalAverage, globalMaximum, margins, pooling } from './windows.js';
import { randomWidth, recurrent, resizing, upSampling } from './windows.js';

/**
 * Rules by class of tfjs-layers. Layers of other classes compute each position by itself, or are a
 * program's own. The table is made without calls, so that a bundler can leave it out of a page.
 */
const RULES: Readonly<Record<string, Rule>> = {
  Activation: activation,
  Add: merge,
  Average: merge,
  AveragePooling1D: pooling,
  AveragePooling2D: pooling,
  AveragePooling3D: pooling,
  BatchNormalization: batchNormalization,
  Bidirectional: recurrent,
  CenterCrop: resizing,
  Concatenate: concatenate,
  Conv1D: convolution,
  Conv2D: convolution,
  Conv2DTranspose: convolution,
  Conv3D: convolution,
  Conv3DTranspose: convolution,
  ConvLSTM2D: recurrent,
  Cropping2D: margins,
  Dense: dense,
  DepthwiseConv2D: convolution,
  Dot: dot,
  Dropout: dropout,
  Flatten: flatten,
  GlobalAveragePooling1D: globalAverage,
  GlobalAveragePooling2D: globalAverage,
  GlobalMaxPooling1D: globalMaximum,
  GlobalMaxPooling2D: globalMaximum,
  GRU: recurrent,
  LayerNormalization: layerNormalization,
  LSTM: recurrent,
  Maximum: merge,
  MaxPooling1D: pooling,
  MaxPooling2D: pooling,
  MaxPooling3D: pooling,
  Minimum: merge,
  Multiply: merge,
  Permute: permute,
  PReLU: prelu,
  RandomWidth: randomWidth,
  RepeatVector: repeatVector,
  Reshape: reshape,
  Resizing: resizing,
  RNN: recurrent,
  SeparableConv2D: convolution,
  SimpleRNN: recurrent,
  Softmax: softmax,
  SpatialDropout1D: spatialDropout,
  TimeDistributed: timeDistributed,
  UpSampling2D: upSampling,
  ZeroPadding2D: margins,
};

/** @param className Undefined for a class that is not of tfjs-layers. */
export function ruleOf(className: string | undefined): Rule | undefined {
  return className !== undefined && Object.hasOwn(RULES, className) ? RULES[className] : undefined;
}
