import { util, type KernelConfig, type TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { MemoryFlag, memoryFlags, operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import type { ElementwiseOperator } from '../fusion/elementwise-operators.js';
import { constantOf } from '../host-constants.js';
import { TensorData } from '../tensor-data.js';
import { mayWait } from './all-pending.js';
import { copy, PendingValue, releaseOperand, type Leaf, type PendingOperand } from './pending-value.js';

const expand = operator('aten::expand');

/**
 * The result of an operator, which is computed when somebody reads it. Undefined if it cannot wait:
 * it is small, not on the CPU, or takes something else than float32 in row-major order. Borrows the
 * inputs; the caller owns the result.
 *
 * @param args Numbers at the places of the operator's arguments.
 */
export function waiting(
  backend: AccBackend,
  form: ElementwiseOperator,
  inputs: readonly TensorInfo[],
  args: readonly number[] = [],
): TensorInfo | undefined {
  if (backend.device !== 'cpu') return undefined;
  const shape = broadcastShape(inputs);
  const size = shape ? util.sizeFromShape(shape) : 0;
  if (!shape || !mayWait(size)) return undefined;
  const operands: PendingOperand[] = [];
  try {
    for (const input of inputs) {
      const operand = operandOf(backend, input, size);
      if (operand === undefined) {
        operands.forEach(releaseOperand);
        return undefined;
      }
      operands.push(operand);
    }
    if (!PendingValue.fits(operands, size)) {
      for (const operand of operands) if (operand instanceof PendingValue) operand.compute();
    }
  } catch (error) {
    operands.forEach(releaseOperand);
    throw error;
  }
  return backend.wrapPending(new PendingValue(shape, { form, operands, args }));
}

/** `x`, broadcast to `shape`, as {@link waiting}. Alone it is a view, as without waiting. */
export function waitingBroadcast(
  backend: AccBackend,
  x: TensorInfo,
  shape: readonly number[],
): TensorInfo | undefined {
  const size = util.sizeFromShape(shape as number[]);
  if (backend.device !== 'cpu' || !mayWait(size)) return undefined;
  if (x.dtype !== 'float32' || !(x.dataId instanceof TensorData) || x.dataId.isElsewhere) return undefined;
  const leaf = leafOf(backend, x, 'float32');
  if (!leaf) return undefined;
  const alone = () => expand(leaf.native, shape);
  const value = new PendingValue(shape, { form: copy, operands: [leaf], args: [], alone });
  return backend.wrapPending(value, backend.keptElements(x));
}

/** The float32 of a native bfloat16 tensor, as {@link waiting}. */
export function waitingFloat32(backend: AccBackend, x: TensorInfo): TensorInfo | undefined {
  if (backend.device !== 'cpu' || !mayWait(util.sizeFromShape(x.shape))) return undefined;
  const { dataId: data } = x;
  if (!(data instanceof TensorData) || data.isElsewhere) return undefined;
  const leaf = leafOf(backend, x, 'bfloat16');
  return leaf && backend.wrapPending(new PendingValue(x.shape, { form: copy, operands: [leaf], args: [] }));
}

/** A value that is not computed yet, in `dtype`, without keeping it. Caller disposes. */
export function pendingAs({ dataId, shape }: TensorInfo, dtype: NativeDtype): NativeTensor | undefined {
  return dataId instanceof TensorData ? dataId.pending?.computedAs(dtype, shape) : undefined;
}

/** The kernel with an elementwise form: its large results wait. */
export function waitingKernel(config: KernelConfig, form: ElementwiseOperator): KernelConfig {
  return {
    ...config,
    kernelFunc: (call) => {
      const { x, a, b } = call.inputs as Record<string, TensorInfo>;
      return waiting(call.backend as AccBackend, form, x ? [x] : [a!, b!]) ?? config.kernelFunc(call);
    },
  };
}

function operandOf(backend: AccBackend, info: TensorInfo, size: number): PendingOperand | undefined {
  if (info.dtype !== 'float32') return undefined;
  const constant = constantOf(info);
  if (constant !== undefined && Number.isFinite(constant)) return constant;
  const { dataId: data } = info;
  if (!(data instanceof TensorData) || data.isElsewhere) return undefined;
  if (data.pending && util.sizeFromShape(info.shape) === size) return data.pending.use();
  // An optimizer writes in place into the memory of a variable, unless somebody else holds it.
  if (data.isOfVariable && isWide(info, size)) return undefined;
  return leafOf(backend, info, 'float32');
}

const isWide = ({ shape }: TensorInfo, size: number): boolean => 2 * util.sizeFromShape(shape) >= size;

function leafOf(backend: AccBackend, info: TensorInfo, dtype: NativeDtype): Leaf | undefined {
  // A view of a part would keep the whole alive.
  if (backend.keptElements(info) > util.sizeFromShape(info.shape)) return undefined;
  const native = backend.native(info);
  if (native.dtype !== dtype) return undefined;
  if (!(memoryFlags([native])[0]! & MemoryFlag.contiguous)) return undefined;
  return { native: native.alias(), source: native.id };
}

/** The shape to which the inputs broadcast; undefined if they do not. */
function broadcastShape(inputs: readonly TensorInfo[]): number[] | undefined {
  const rank = Math.max(...inputs.map(({ shape }) => shape.length));
  const result = new Array<number>(rank).fill(1);
  for (const { shape } of inputs) {
    for (let dim = 1; dim <= shape.length; dim++) {
      const size = shape[shape.length - dim]!;
      const place = rank - dim;
      if (size === 1 || size === result[place]) continue;
      if (result[place] !== 1) return undefined;
      result[place] = size;
    }
  }
  return result;
}
