import { keep, Variable, type Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { operator } from '@acc/native';
import { besideTape } from '@acc/tfjs-internals';
import { BACKEND_NAME } from '../acc-names.js';
import { activeAcc } from '../acc-layer/active-acc.js';
import type { AccBackend } from '../backend.js';
import { replaceInitial } from '../initial-values.js';
import { packedOf, packedTensorOn } from './packed-tensor.js';
import type { PackedRecords, PackedValues } from './packed-values.js';

const reshape = operator('aten::reshape');

/**
 * A tensor with packed values, which it takes over. The caller owns it.
 *
 * @throws AccError `ACC_QUANTIZE_BACKEND` unless the backend `acc` is active.
 */
export function packedTensor(values: PackedValues): Tensor {
  return packedTensorOn(requireAcc(), values);
}

/** All records as a tensor int32. The caller disposes it. */
export function recordTensor(records: PackedRecords): Tensor {
  return requireAcc().tensorOf(records.read(), 'int32');
}

/**
 * Writes records that a tensor int32 has, in their shape or flat. All tensors that share the packed values get
 * the others. The caller keeps the tensor.
 */
export function writeRecords(records: PackedRecords, values: Tensor): void {
  using shaped = reshape(requireAcc().native(values), [...records.shape]);
  records.write(shaped);
}

/** A tensor with packed values of the same format, from the records in a tensor int32. The caller disposes both. */
export function packedLike(records: PackedRecords, values: Tensor): Tensor {
  using shaped = reshape(requireAcc().native(values), [...records.shape]);
  return packedTensor(records.like(shaped));
}

/** Gives a variable packed values. It takes the tensor over. */
export function assignPacked(variable: Variable, tensor: Tensor): void {
  replaceInitial(variable, () => Variable.prototype.assign.call(variable, keep(tensor)));
  tensor.dispose();
}

/**
 * Gives a packed variable other values, from the records in a tensor int32, which the caller keeps. Tensors
 * that shared the values before keep those.
 */
export function assignRecords(variable: Variable, records: Tensor): void {
  besideTape(() => assignPacked(variable, packedLike(packedOf(variable)!.records, records)));
}

/** @throws AccError `ACC_QUANTIZE_BACKEND` unless the backend `acc` is active. */
export function requireAcc(): AccBackend {
  const active = activeAcc();
  if (active) return active;
  throw new AccError('ACC_QUANTIZE_BACKEND', `Quantized weights need the backend '${BACKEND_NAME}'.`, {
    help: `Run \`npx acc setup\` once, and call await tf.setBackend('${BACKEND_NAME}') before, or create an Accelerator.`,
  });
}
