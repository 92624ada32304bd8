import type { Variable } from '@tensorflow/tfjs-core';
import { AccError, cutOf, isAccError, withoutHelp } from '@acc/contract';
import { isFakeQuantized, packedOf } from '@acc/kernels';
import type { Limits } from '../step/limits.js';

/**
 * Does nothing for a variable whose values are neither packed nor rounded before they are used.
 *
 * @throws AccError `ACC_QUANTIZED_PLACE` in a run that needs float32 values of the variable;
 * `ACC_QUANTIZED_FROZEN` for one that is trainable.
 */
export function requirePackedFits(variable: Variable, limits: Limits): void {
  const isPacked = packedOf(variable) !== undefined;
  if (!isPacked && !isFakeQuantized(variable)) return;
  requirePlace(variable, limits);
  if (isPacked && variable.trainable) throw trainedPacked(variable);
}

function requirePlace(variable: Variable, limits: Limits): void {
  try {
    limits.require('quantized');
  } catch (error) {
    if (!isAccError(error, 'ACC_QUANTIZED_PLACE')) throw error;
    throw noPlace(variable, withoutHelp(error.message), error);
  }
  if (limits.has('expert') && cutOf(variable)?.axis === 'expert') {
    throw noPlace(variable, 'mesh.expert divides float32 values of experts.');
  }
}

function noPlace(variable: Variable, reason: string, cause?: AccError): AccError {
  const { name } = variable;
  const state = isFakeQuantized(variable) ? 'was prepared by prepareQat' : 'is quantized';
  return new AccError('ACC_QUANTIZED_PLACE', `prepare: '${name}' ${state}. ${reason}`, {
    help: 'Leave it in float32: name its layer in exclude of quantize or prepareQat. Or train without that feature.',
    details: { ...cause?.details, name },
    cause,
  });
}

function trainedPacked({ name }: Variable): AccError {
  return new AccError(
    'ACC_QUANTIZED_FROZEN',
    `prepare: '${name}' is trainable, but its values are packed, and packed values are not trained.`,
    {
      help: 'Create it with tf.variable(values, false), or with values in float32: tf.variable(tf.mul(values, 1)).',
      details: { name },
    },
  );
}
