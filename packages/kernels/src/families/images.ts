import { operator, type Tensor as NativeTensor } from '@acc/native';

const permute = operator('aten::permute');
const newEmptyStrided = operator('aten::new_empty_strided');

/** tfjs's orders of the dims. */
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
 * Permutes tfjs's images to libtorch's order of dims, `[batch, channels, ...spatial]`. The result
 * is a view, so its memory stays channels-last. On CPUs this layout is faster (max pooling 13
 * times). libtorch's results are channels-last too, so they are row-major for tfjs, through a whole
 * network. Caller disposes.
 */
export function channelsFirst(x: NativeTensor, format: ImageFormat): NativeTensor {
  return permute(x, TO_CHANNELS_FIRST[format]);
}

/**
 * The inverse of {@link channelsFirst}. Takes ownership of `x` and returns a view. Caller disposes.
 */
export function fromChannelsFirst(x: NativeTensor, format: ImageFormat): NativeTensor {
  using held = x;
  return permute(held, FROM_CHANNELS_FIRST[format]);
}

/**
 * An uninitialised tensor `[batch, channels, ...spatial]`, channels-last in memory. It replaces an
 * input of which libtorch's gradients read only the shape. Dtype and device are those of `like`.
 * Caller disposes.
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
