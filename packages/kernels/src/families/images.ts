import { operator, type Tensor as NativeTensor } from '@acc/native';

const permute = operator('aten::permute');
const newEmptyStrided = operator('aten::new_empty_strided');

/** Where tfjs keeps the channels. */
export type ImageFormat = 'NHWC' | 'NCHW' | 'NDHWC' | 'NCDHW';

const TO_CHANNELS_FIRST: Readonly<Record<ImageFormat, readonly number[]>> = {
  NHWC: [0, 3, 1, 2],
  NCHW: [0, 1, 2, 3],
  NDHWC: [0, 4, 1, 2, 3],
  NCDHW: [0, 1, 2, 3, 4],
};

const FROM_CHANNELS_FIRST: Readonly<Record<ImageFormat, readonly number[]>> = {
  NHWC: [0, 2, 3, 1],
  NCHW: [0, 1, 2, 3],
  NDHWC: [0, 2, 3, 4, 1],
  NCDHW: [0, 1, 2, 3, 4],
};

/**
 * tfjs's images as libtorch names their dims, `[batch, channels, ...spatial]`: a view, whose memory stays
 * channels-last. On CPUs that is the faster layout (max pooling 13 times), and it flows on through a whole network:
 * what libtorch makes of it is channels-last too, so row-major again for tfjs. Caller disposes.
 */
export function channelsFirst(x: NativeTensor, format: ImageFormat): NativeTensor {
  return permute(x, TO_CHANNELS_FIRST[format]);
}

/** The way back from {@link channelsFirst}: takes `x` over, and gives a view. Caller disposes. */
export function fromChannelsFirst(x: NativeTensor, format: ImageFormat): NativeTensor {
  using held = x;
  return permute(held, FROM_CHANNELS_FIRST[format]);
}

/**
 * A tensor `[batch, channels, ...spatial]`, channels-last in memory, whose elements nobody set: stands in for an input
 * of which libtorch's gradients look at the shape alone. Dtype and device are those of `like`. Caller disposes.
 */
export function shapeOnly(like: NativeTensor, shape: readonly number[]): NativeTensor {
  return newEmptyStrided(like, shape, channelsLastStrides(shape));
}

/** Strides of `[batch, channels, ...spatial]` with the channels innermost. */
export function channelsLastStrides(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  let step = shape[1]!;
  for (let dim = shape.length - 1; dim >= 2; dim--) {
    strides[dim] = step;
    step *= shape[dim]!;
  }
  strides[0] = step;
  return strides;
}
