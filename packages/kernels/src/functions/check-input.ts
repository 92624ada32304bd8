import { Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

/**
 * Requires a float32 tensor.
 *
 * @throws AccError `ACC_DTYPE_UNSUPPORTED`, `ACC_INVALID_ARGUMENT`.
 */
export function requireFloat(where: string, name: string, x: unknown): void {
  if (!(x instanceof Tensor)) {
    throw new AccError('ACC_INVALID_ARGUMENT', `${where}: ${name} is not a tensor.`, {
      help: 'Give a tf.Tensor. tf.tensor creates one from numbers.',
      details: { where, name },
    });
  }
  if (x.dtype === 'float32') return;
  throw new AccError('ACC_DTYPE_UNSUPPORTED', `${where}: ${name} has dtype ${x.dtype}; expected float32.`, {
    help: `Use ${name}.toFloat().`,
    details: { where, name, dtype: x.dtype },
  });
}

/**
 * Requires `x` to have the shape `shape`.
 *
 * @throws AccError `ACC_SHAPE_MISMATCH`.
 */
export function requireShape(where: string, name: string, x: Tensor, shape: readonly number[]): void {
  if (x.shape.length === shape.length && x.shape.every((length, dim) => length === shape[dim])) return;
  throw new AccError(
    'ACC_SHAPE_MISMATCH',
    `${where}: ${name} has shape [${x.shape.join(', ')}]; expected [${shape.join(', ')}].`,
    {
      help: `Pass ${name} with that shape.`,
      details: { where, name, shape: x.shape, expected: shape },
    },
  );
}
