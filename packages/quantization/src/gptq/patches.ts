import { concat, pad, reshape, stridedSlice, type Tensor, type Tensor4D } from '@tensorflow/tfjs-core';
import type { Conv2DLayer } from '@acc/tfjs-internals';
import type { QuantizableLayer } from '../quantizable-layers.js';

/** The settings of a convolution of tfjs-layers, each list with one number for each dim of a filter. */
interface Convolution extends Omit<Conv2DLayer, Lists> {
  readonly kernelSize: readonly number[];
  readonly strides: readonly number[];
  readonly dilationRate: readonly number[];
}

type Lists = 'kernelSize' | 'strides' | 'dilationRate';

/** Whether {@link factorsOf} has the inputs of a layer. */
export const hasFactors = ({ className, layer, isProduct }: QuantizableLayer): boolean =>
  isProduct ||
  ((className === 'Conv1D' || className === 'Conv2D') &&
    (layer as Convolution).dataFormat === 'channelsLast');

/**
 * The rows that a layer multiplies with its matrix of output channels, `[…, columns]`: for a convolution, the values
 * under the filter at each place.
 */
export function factorsOf({ layer, isProduct }: QuantizableLayer, x: Tensor): Tensor {
  if (isProduct) return x;
  const convolution = layer as Convolution;
  const isLine = x.rank === 3;
  const image = (isLine ? reshape(x, [x.shape[0]!, x.shape[1]!, 1, x.shape[2]!]) : x) as Tensor4D;
  const dims = [0, 1].map((i) => windowAlong(convolution, i, image.shape[i + 1]!));
  const padded = pad(image, [
    [0, 0],
    ...dims.map(({ before, after }) => [before, after] as [number, number]),
    [0, 0],
  ]);
  const [rows, columns] = dims as [Window, Window];
  const places = rows.starts.flatMap((row) =>
    columns.starts.map((column) =>
      stridedSlice(
        padded,
        [0, row, column, 0],
        [image.shape[0], row + rows.span, column + columns.span, image.shape[3]],
        [1, rows.stride, columns.stride, 1],
      ),
    ),
  );
  return concat(places, -1);
}

/** The places of a filter along one dim. */
interface Window {
  /** Zeros that are added. */
  readonly before: number;
  readonly after: number;
  /** The places of the filter's values at its first place. */
  readonly starts: readonly number[];
  readonly stride: number;
  /** From the first place of a value to the last one, and one more. */
  readonly span: number;
}

function windowAlong(
  { kernelSize, strides, dilationRate, padding }: Convolution,
  i: number,
  size: number,
): Window {
  const [kernel, stride] = [kernelSize[i] ?? 1, strides[i] ?? 1];
  const dilation = dilationRate[i] ?? 1;
  const reach = (kernel - 1) * dilation + 1;
  const count = padding === 'valid' ? Math.floor((size - reach) / stride) + 1 : Math.ceil(size / stride);
  const added = padding === 'valid' ? 0 : Math.max(0, (count - 1) * stride + reach - size);
  const before = padding === 'causal' && i === 0 ? reach - 1 : Math.floor(added / 2);
  return {
    before,
    after: padding === 'causal' ? 0 : added - before,
    starts: Array.from({ length: kernel }, (_, k) => k * dilation),
    stride,
    span: (count - 1) * stride + 1,
  };
}
