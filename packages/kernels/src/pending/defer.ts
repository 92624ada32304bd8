import { util, type KernelConfig, type TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { MemoryFlag, memoryFlags, operator, unrecorded, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { toDtype } from '../families/conversion.js';
import { elementwiseOperator, type ElementwiseOperator } from '../fusion/elementwise-operators.js';
import { constantOf } from '../host-constants.js';
import { TensorData } from '../tensor-data.js';
import { mayWait, type Leaf } from './all-pending.js';
import { areValuesRecorded, recordedValue, type RecordedValue } from './recorded-value.js';
import { copy, PendingValue, releaseOperand, type PendingOperand } from './pending-value.js';

const expand = operator('aten::expand');
const conversion = elementwiseOperator('aten::_to_copy')!;

/** An operator whose result may wait. */
export interface WaitingOperator {
  readonly form: ElementwiseOperator;
  /** Numbers at the places of the operator's arguments. */
  readonly args?: readonly number[];
  /** Computes it alone, in the calls that a recording has of it. The caller owns the result. */
  readonly alone: (inputs: readonly TensorInfo[]) => TensorInfo;
}

/**
 * The result of an operator, which is computed when somebody reads it. Undefined if it cannot wait:
 * it is small, not on the CPU, or takes something else than float32 in row-major order. Borrows the
 * inputs; the caller owns the result.
 */
export function waiting(
  backend: AccBackend,
  { form, args = [], alone }: WaitingOperator,
  inputs: readonly TensorInfo[],
): TensorInfo | undefined {
  if (backend.device !== 'cpu') return undefined;
  const shape = broadcastShape(inputs);
  const size = shape ? util.sizeFromShape(shape) : 0;
  if (!shape || !mayWait(size)) return undefined;
  const operands: PendingOperand[] = [];
  let recorded: RecordedValue | undefined;
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
    if (areValuesRecorded()) recorded = recordedOf(backend, inputs, operands, { form, alone });
  } catch (error) {
    operands.forEach(releaseOperand);
    throw error;
  }
  return backend.wrapPending(new PendingValue(shape, { form, operands, args }, recorded));
}

function recordedOf(
  backend: AccBackend,
  infos: readonly TensorInfo[],
  operands: readonly PendingOperand[],
  { form, alone }: WaitingOperator,
): RecordedValue {
  const inputs = infos.map((info, i) => {
    const operand = operands[i];
    return { info, value: operand instanceof PendingValue ? operand.inRecording : undefined };
  });
  return recordedValue(backend, inputs, alone, form.needsMemory);
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
  const computed = (native: NativeTensor) => expand(native, shape);
  const recorded = copyInRecording(backend, x, leaf, { form: copy, computed });
  const alone = () => computed(leaf.native);
  const value = new PendingValue(shape, { form: copy, operands: [leaf], args: [], alone }, recorded);
  return backend.wrapPending(value, backend.keptElements(x));
}

/** The float32 of a native bfloat16 tensor, as {@link waiting}. */
export function waitingFloat32(backend: AccBackend, x: TensorInfo): TensorInfo | undefined {
  if (backend.device !== 'cpu' || !mayWait(util.sizeFromShape(x.shape))) return undefined;
  const { dataId: data } = x;
  if (!(data instanceof TensorData) || data.isElsewhere) return undefined;
  const leaf = leafOf(backend, x, 'bfloat16');
  if (!leaf) return undefined;
  const computed = (native: NativeTensor) => toDtype(native, 'float32');
  const recorded = copyInRecording(backend, x, leaf, { form: conversion, computed });
  const computation = { form: copy, operands: [leaf], args: [] };
  return backend.wrapPending(new PendingValue(x.shape, computation, recorded));
}

interface Copied {
  readonly form: ElementwiseOperator;
  readonly computed: (native: NativeTensor) => NativeTensor;
}

/** The recorded value of a copy of `x`. Gives `leaf` back if that fails. */
function copyInRecording(
  backend: AccBackend,
  x: TensorInfo,
  leaf: Leaf,
  { form, computed }: Copied,
): RecordedValue | undefined {
  if (!areValuesRecorded()) return undefined;
  try {
    const alone = ([input]: readonly TensorInfo[]) =>
      backend.wrap(computed(backend.native(input!)), 'float32');
    return recordedOf(backend, [x], [leaf], { form, alone });
  } catch (error) {
    releaseOperand(leaf);
    throw error;
  }
}

/** A value that is not computed yet, in `dtype`, without keeping it. Caller disposes. */
export function pendingAs(
  backend: AccBackend,
  info: TensorInfo,
  dtype: NativeDtype,
): NativeTensor | undefined {
  const value = info.dataId instanceof TensorData ? info.dataId.pending : undefined;
  if (!value) return undefined;
  const compute = () => value.computedAs(dtype, info.shape);
  const recorded = areValuesRecorded() ? value.inRecording : undefined;
  return recorded ? recorded.computeAs(backend, info, dtype, compute) : compute();
}

/** The kernel with an elementwise form: its large results wait. */
export function waitingKernel(config: KernelConfig, form: ElementwiseOperator): KernelConfig {
  return {
    ...config,
    kernelFunc: (call) => {
      const { x, a, b } = call.inputs as Record<string, TensorInfo>;
      const alone = ([first, second]: readonly TensorInfo[]) => {
        const inputs = x ? { x: first! } : { a: first!, b: second! };
        return config.kernelFunc({ ...call, inputs }) as TensorInfo;
      };
      const operator = { form, alone };
      return waiting(call.backend as AccBackend, operator, x ? [x] : [a!, b!]) ?? config.kernelFunc(call);
    },
  };
}

function operandOf(backend: AccBackend, info: TensorInfo, size: number): PendingOperand | undefined {
  if (info.dtype !== 'float32') return undefined;
  const constant = constantOf(info);
  if (constant !== undefined && Number.isFinite(constant)) return constant;
  const { dataId: data } = info;
  if (!(data instanceof TensorData) || data.isElsewhere) return undefined;
  const value = data.pending;
  // Of a value that an action has made, a recording takes only the tensor.
  const mayBeUsed = value && (!areValuesRecorded() || value.inRecording !== undefined);
  if (mayBeUsed && util.sizeFromShape(info.shape) === size) return value.use();
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
  if (!isContiguous(native)) return undefined;
  return { native: native.alias(), source: native.id };
}

/** A recording refuses to tell who else holds the memory, which is not asked here. */
function isContiguous(native: NativeTensor): boolean {
  const flags = () => memoryFlags([native])[0]!;
  return ((areValuesRecorded() ? unrecorded(flags) : flags()) & MemoryFlag.contiguous) !== 0;
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
