import { Variable, type TensorInfo } from '@tensorflow/tfjs-core';
import { engineInternals, replaceForGood } from '@acc/tfjs-internals';
import type { TensorData } from './tensor-data.js';

/**
 * The value of a float32 scalar that was created from a JavaScript number and that nothing can
 * change: no variable has held its data, and nothing has written in place. Undefined for all other
 * tensors. While a step is recorded, scalars from outside of it are no constants either, because a
 * replay may get others.
 */
export function constantOf({ dataId }: TensorInfo): number | undefined {
  return (dataId as Partial<TensorData>).constant;
}

/**
 * Whether `tensor` is a {@link constantOf constant} that was created on the running tape. Then the
 * outermost gradient is not taken with respect to it, because what that differentiates exists before
 * the tape. Only a gradient inside of it could be.
 */
export const isConstantOnTape = ({ dataId }: TensorInfo): boolean =>
  !!(dataId as Partial<TensorData>).isConstantOnTape;

let isInstalled = false;

/** Makes data know that a variable holds it, so that it is no constant. May be called again. */
export function watchVariables(): void {
  if (isInstalled) return;
  isInstalled = true;
  const inside = engineInternals();
  replaceForGood(inside, 'incRef', (own) => (tensor, backend) => {
    if (tensor instanceof Variable) (tensor.dataId as Partial<TensorData>).becomesVariable?.();
    return own.call(inside, tensor, backend);
  });
}
