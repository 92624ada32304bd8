import type { Tensor } from '@acc/native';
import { abs, amax } from '../formats/operators.js';
import type { ChannelStatistics } from './channel-statistics.js';

/** The least magnitude of a column. */
const LEAST = 1e-5;

/**
 * SmoothQuant (Xiao et al. 2023, equation 4): the columns of a matrix are multiplied with max|x|^alpha /
 * max|w|^(1 - alpha), and its inputs are divided by it. So both have columns of more equal size, and one scale for
 * each row of the inputs is enough.
 *
 * @param matrix Float32 `[rows, columns]`. Borrowed.
 * @returns Float32 `[columns]`, with which inputs are multiplied.
 */
export function smoothingScale(matrix: Tensor, channels: ChannelStatistics, alpha: number): Float32Array {
  using magnitudes = abs(matrix);
  using largest = amax(magnitudes, [0]);
  const weights = largest.read() as Float32Array;
  return channels.largest().map((input, i) => {
    const scale = Math.max(input, LEAST) ** alpha / Math.max(weights[i]!, LEAST) ** (1 - alpha);
    return 1 / scale;
  });
}
