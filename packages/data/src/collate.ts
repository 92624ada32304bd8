import { stack, Tensor, tensor, util } from '@tensorflow/tfjs-core';
import { batchMemory } from './batch-memory.js';
import { cannotCollate } from './errors.js';
import { combine, commonKind, describe } from './combine.js';
import { packPlain } from './plain-values.js';

/**
 * Combines samples of the same structure into one batch. Numbers, booleans and strings become a
 * tensor `[rows]`. Arrays of these, typed arrays and tensors are stacked to `[rows, …]`. Records
 * are batched by key, other arrays by index.
 *
 * @param samples At least one. They are not changed.
 * @returns The structure of a sample, with tensors that the caller owns. Numbers become float32,
 * booleans bool, strings string, and typed arrays float32 or int32. Tensors keep their dtype.
 * @throws AccError `ACC_DATA_COLLATE`.
 */
export function collate(samples: readonly unknown[]): unknown {
  return combine('sample', samples, tensorOf);
}

function tensorOf(path: string, samples: readonly unknown[]): Tensor | undefined {
  const [first] = samples;
  if (first instanceof Tensor) return stackTensors(path, samples, first);
  const kind = commonKind(path, samples);
  return kind && tensor(packPlain(samples, kind, batchMemory), [samples.length, ...kind.shape], kind.dtype);
}

function stackTensors(path: string, samples: readonly unknown[], first: Tensor): Tensor {
  const tensors = samples.filter((sample) => sample instanceof Tensor);
  const alike = tensors.every((x) => util.arraysEqual(x.shape, first.shape) && x.dtype === first.dtype);
  if (tensors.length === samples.length && alike) return stack(tensors);
  throw cannotCollate(path, 'tensors differ in shape or dtype', { samples: samples.map(describeTensor) });
}

function describeTensor(value: unknown): string {
  return value instanceof Tensor ? `${value.dtype} [${value.shape.join(', ')}]` : describe(value);
}
