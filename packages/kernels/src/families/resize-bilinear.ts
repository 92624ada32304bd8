import { operator, type Tensor as NativeTensor } from '@acc/native';
import { shapeOnly } from './images.js';
import { padded } from './sliding-window.js';

const upsample = operator('aten::upsample_bilinear2d');
const upsampleBackward = operator('aten::upsample_bilinear2d_backward');
const replicate = operator('aten::replication_pad2d');
const replicateBackward = operator('aten::replication_pad2d_backward');
const slice = operator('aten::slice.Tensor');
const contiguous = operator('aten::contiguous');

/** libtorch's constant for channels-last memory. */
const CHANNELS_LAST = 2;

/** Padding by one element at the right and one at the bottom. */
const ONE_BEHIND = [0, 1, 0, 1];

/** Height and width. */
type Size = readonly [number, number];

/**
 * The position in the image of row r of the result, which has `out` rows: `corners`,
 * r·(in−1)/(out−1); `centers`, (r+½)·in/out−½; `origins`, r·in/out, which libtorch does not
 * support.
 */
export type PixelGrid = 'corners' | 'centers' | 'origins';

/** Resizes `[batch, channels, height, width]` to another height and width. Caller disposes. */
export function resizeBilinear(x: NativeTensor, [height, width]: Size, grid: PixelGrid): NativeTensor {
  if (grid !== 'origins') return upsample(x, [height, width], grid === 'corners');
  // An image with its last row repeated, resized to out+1 rows by `corners`, has the step
  // (in+1−1)/(out+1−1) = in/out of `origins`.
  using longer = replicate(x, ONE_BEHIND);
  using large = upsample(longer, [height + 1, width + 1], true);
  using rows = slice(large, 2, 0, height, 1);
  using part = slice(rows, 3, 0, width, 1);
  return contiguous(part, CHANNELS_LAST);
}

/**
 * The gradient of {@link resizeBilinear} by `corners` or `origins` with respect to images of
 * `size`. Caller disposes.
 */
export function resizeBilinearGradient(
  dy: NativeTensor,
  [height, width]: Size,
  grid: Exclude<PixelGrid, 'centers'>,
): NativeTensor {
  const [batch, channels, outHeight, outWidth] = dy.shape as [number, number, number, number];
  if (grid === 'corners') {
    return upsampleBackward(dy, [outHeight, outWidth], [batch, channels, height, width], true);
  }
  using large = padded(dy, ONE_BEHIND);
  using longer = upsampleBackward(
    large,
    [outHeight + 1, outWidth + 1],
    [batch, channels, height + 1, width + 1],
    true,
  );
  using images = shapeOnly(dy, [batch, channels, height, width]);
  return replicateBackward(longer, images, ONE_BEHIND);
}
