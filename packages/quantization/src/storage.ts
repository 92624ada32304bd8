import type { Tensor } from '@acc/native';
import { registeredDevice, type PackedValues } from '@acc/kernels';
import { operator } from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';
import { mm, cast, reshape, transpose } from './formats/operators.js';
import type { PackedMatrix } from './formats/packed-matrix.js';

const contiguous = operator('aten::contiguous');

/** The dim of a variable that has its output channels: a kernel's last, an embedding's first. */
export type ChannelAxis = 'first' | 'last';

/** Values of a variable as a matrix `[channels, others]`. The caller disposes it. */
export function asMatrix(values: Tensor, axis: ChannelAxis): Tensor {
  const shape = values.shape;
  if (axis === 'first') {
    using dense = contiguous(values);
    return reshape(dense, [shape[0]!, -1]);
  }
  using rows = reshape(values, [-1, shape.at(-1)!]);
  using turned = transpose(rows);
  return contiguous(turned);
}

/** Whether tensors are in host memory, for which libtorch's kernels for packed weights are written here. */
export const isOnCpu = (): boolean => (registeredDevice() ?? 'cpu') === 'cpu';

/** Whether tfjs walks a tape back. Gradients are products with the float32 values. */
function isInGradient(): boolean {
  const { activeTape, gradientDepth } = engineInternals().state;
  return Boolean(activeTape) && gradientDepth === 0;
}

/** The packed values of a variable: a packed matrix, and how the variable lies in it. */
export class Storage implements PackedValues {
  readonly tensors: readonly Tensor[];

  constructor(
    readonly matrix: PackedMatrix,
    readonly shape: readonly number[],
    readonly axis: ChannelAxis,
  ) {
    this.tensors = matrix.tensors;
  }

  /** The bytes in memory. */
  get bytes(): number {
    return this.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  unpack(): Tensor {
    using values = this.matrix.values();
    using turned = this.axis === 'last' ? transpose(values) : values.alias();
    return reshape(turned, [...this.shape]);
  }

  product(x: Tensor, transposed: boolean): Tensor | undefined {
    const isOfRows = transposed === (this.axis === 'first');
    const isFast = isOfRows && isOnCpu() && !isInGradient();
    const packed = isFast ? this.matrix.product?.(x) : undefined;
    // The float32 values and float32 `x` have faster products in the backend.
    if (packed || x.dtype === 'float32') return packed;
    using values = this.matrix.values();
    using same = cast(values, x.dtype);
    using second = isOfRows ? transpose(same) : same.alias();
    return mm(x, second);
  }

  rows(indices: Tensor): Tensor | undefined {
    if (this.axis !== 'first') return undefined;
    return this.matrix.rows?.(indices);
  }
}
