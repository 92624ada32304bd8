import { activation, concatenate, dense, dot, dropout, merge, overAxis } from './axes.js';
import { prelu, softmax, spatialDropout, timeDistributed } from './axes.js';
import { ATTENTION, IN_LOSS, type Rule } from './layer-use.js';
import { flatten, permute, repeatVector, reshape } from './shapes.js';
import { always, convolution, ifChannelsLast, margins, pooling } from './windows.js';
import { randomWidth, resizing, upSampling } from './windows.js';

const recurrent = always({ does: 'goes from position to position', instead: ATTENTION });
const ofMean = always({ does: 'takes the mean over positions', instead: IN_LOSS });
const ofMaximum = always({ does: 'takes the maximum over positions', instead: ATTENTION });
const [poolingIn2D, meanIn2D, maximumIn2D] = [pooling, ofMean, ofMaximum].map(ifChannelsLast);

/**
 * Rules by class of tfjs-layers. Layers of other classes compute each position by itself, or are a
 * program's own.
 */
export const MIXING_RULES: ReadonlyMap<string | undefined, Rule> = new Map(
  Object.entries({
    Activation: activation,
    Add: merge,
    Average: merge,
    AveragePooling1D: pooling,
    AveragePooling2D: poolingIn2D!,
    AveragePooling3D: poolingIn2D!,
    BatchNormalization: overAxis('has statistics and weights for each position'),
    Bidirectional: recurrent,
    CenterCrop: resizing,
    Concatenate: concatenate,
    Conv1D: convolution,
    Conv2D: convolution,
    Conv2DTranspose: convolution,
    Conv3D: convolution,
    Conv3DTranspose: convolution,
    ConvLSTM2D: recurrent,
    Cropping2D: ifChannelsLast(margins),
    Dense: dense,
    DepthwiseConv2D: convolution,
    Dot: dot,
    Dropout: dropout,
    Flatten: flatten,
    GlobalAveragePooling1D: ofMean,
    GlobalAveragePooling2D: meanIn2D!,
    GlobalMaxPooling1D: ofMaximum,
    GlobalMaxPooling2D: maximumIn2D!,
    GRU: recurrent,
    LayerNormalization: overAxis('normalises over positions'),
    LSTM: recurrent,
    Maximum: merge,
    MaxPooling1D: pooling,
    MaxPooling2D: poolingIn2D!,
    MaxPooling3D: poolingIn2D!,
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
    UpSampling2D: ifChannelsLast(upSampling),
    ZeroPadding2D: ifChannelsLast(margins),
  }),
);
