import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { BACKEND_NAME } from '../acc-names.js';
import { activeAcc } from '../acc-layer/active-acc.js';
import type { AccBackend } from '../backend.js';
import { packedTensorOn } from './packed-tensor.js';
import type { PackedValues } from './packed-values.js';

/**
 * A tensor with packed values, which it takes over. The caller owns it.
 *
 * @throws AccError `ACC_QUANTIZE_BACKEND` unless the backend `acc` is active.
 */
export function packedTensor(values: PackedValues): Tensor {
  return packedTensorOn(requireAcc(), values);
}

/** @throws AccError `ACC_QUANTIZE_BACKEND` unless the backend `acc` is active. */
export function requireAcc(): AccBackend {
  const active = activeAcc();
  if (active) return active;
  throw new AccError('ACC_QUANTIZE_BACKEND', `Quantized weights need the backend '${BACKEND_NAME}'.`, {
    help: `Run \`npx acc setup\` once, and call await tf.setBackend('${BACKEND_NAME}') before, or create an Accelerator.`,
  });
}
