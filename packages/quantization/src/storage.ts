import { util } from '@tensorflow/tfjs-core';
import type { Tensor } from '@acc/native';
import type { ChannelAxis, PackedRecords, PackedValues, StorageFormat } from '@acc/kernels';
import { operator, refuseRecording } from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';
import { mm, mul, cast, reshape, transpose } from './formats/operators.js';
import type { InputScale, MatrixShape, PackedMatrix } from './formats/packed-matrix.js';
import { matrixFrom, recordShape, type MatrixUse } from './matrix-of.js';
import { isOnCpu } from './on-cpu.js';

const contiguous = operator('aten::contiguous');

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

/** Whether tfjs walks a tape back. Gradients are products with the float32 values. */
function isInGradient(): boolean {
  const { activeTape, gradientDepth } = engineInternals().state;
  return Boolean(activeTape) && gradientDepth === 0;
}

/** How a variable lies in its packed matrix. */
export interface StoredVariable extends MatrixUse {
  /** Of the variable. */
  readonly shape: readonly number[];
  readonly axis: ChannelAxis;
  /** Products multiply the columns of their input with it, so the values are those of the matrix times it. */
  readonly inputScale?: InputScale | undefined;
}

function matrixShape({ shape, axis }: StoredVariable): MatrixShape {
  const channels = axis === 'first' ? shape[0]! : shape.at(-1)!;
  return [channels, util.sizeFromShape([...shape]) / channels];
}

/** The packed values of a variable: a packed matrix, and how the variable lies in it. */
export class Storage implements PackedValues {
  readonly tensors: Tensor[] = [];
  readonly shape: readonly number[];
  readonly records: PackedRecords;
  readonly dynamic: boolean;
  readonly #stored: StoredVariable;
  readonly #matrixShape: MatrixShape;
  #matrix: PackedMatrix | undefined;
  /** Writes the records when they are needed. */
  #load: (() => void) | undefined;

  /** @param matrix It is taken over. */
  constructor(matrix: PackedMatrix, stored: StoredVariable) {
    const { shape, axis } = stored;
    this.shape = shape;
    this.dynamic = stored.dynamic;
    this.#stored = stored;
    this.#matrixShape = matrixShape(stored);
    this.#take(matrix);
    const { dtype, granularity } = matrix;
    const format: StorageFormat = { dtype, granularity, axis };
    this.records = {
      format,
      shape: recordShape(this.#matrixShape, format),
      read: () => this.#current.records(),
      write: (records) => this.#take(this.#from(records, format)),
      defer: (load) => {
        this.#load = load;
        this.#free();
      },
      release: () => this.#free(),
      like: (records) => new Storage(this.#from(records, format), stored),
    };
  }

  /** @param records They are borrowed. */
  static from(records: Tensor, format: StorageFormat, stored: StoredVariable): Storage {
    return new Storage(matrixFrom(records, matrixShape(stored), format, stored), stored);
  }

  #from(records: Tensor, format: StorageFormat): PackedMatrix {
    return matrixFrom(records, this.#matrixShape, format, this.#stored);
  }

  #take(matrix: PackedMatrix): void {
    this.#free();
    this.#matrix = matrix;
    this.tensors.push(...matrix.tensors);
  }

  #free(): void {
    for (const tensor of this.tensors.splice(0)) tensor.dispose();
    this.#matrix = undefined;
  }

  get #current(): PackedMatrix {
    if (this.#load)
      refuseRecording('it uses quantized weights of which ranks have shares: use fsdp stage 2 or ddp');
    if (!this.#matrix) this.#load!();
    return this.#matrix!;
  }

  /** The bytes in memory. */
  get bytes(): number {
    return this.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  unpack(): Tensor {
    using values = this.#values();
    using turned = this.#stored.axis === 'last' ? transpose(values) : values.alias();
    return reshape(turned, [...this.shape]);
  }

  product(x: Tensor, transposed: boolean): Tensor | undefined {
    const matrix = this.#current;
    const isOfRows = transposed === (this.#stored.axis === 'first');
    const { dynamic, exact, range } = this.#stored;
    const isFast = isOfRows && isOnCpu() && !isInGradient() && (dynamic || range !== undefined || !exact);
    const packed = isFast ? this.#packedProduct(matrix, x) : undefined;
    // The float32 values and float32 `x` have faster products in the backend.
    if (packed || x.dtype === 'float32') return packed;
    using values = this.#values();
    using same = cast(values, x.dtype);
    using second = isOfRows ? transpose(same) : same.alias();
    return mm(x, second);
  }

  rows(indices: Tensor): Tensor | undefined {
    if (this.#stored.axis !== 'first') return undefined;
    const { inputScale } = this.#stored;
    const found = this.#current.rows?.(indices);
    if (!found || !inputScale) return found;
    using values = found;
    return mul(values, inputScale.read());
  }

  #packedProduct(matrix: PackedMatrix, x: Tensor): Tensor | undefined {
    const { inputScale } = this.#stored;
    if (!inputScale || !matrix.product) return matrix.product?.(x);
    using factors = cast(inputScale.read(), x.dtype);
    using scaled = mul(x, factors);
    return matrix.product(scaled);
  }

  #values(): Tensor {
    const { inputScale } = this.#stored;
    using values = this.#current.values();
    return inputScale ? mul(values, inputScale.read()) : values.alias();
  }
}
