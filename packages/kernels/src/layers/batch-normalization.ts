import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { batchNormFunction, batchStatistics } from './batch-norm-kernel.js';
import type { AccLayerCall } from './acc-layer-call.js';
import type { BatchNormalizationLayer, LayerVariable } from '@acc/tfjs-internals';

const interpolate = operator('aten::lerp.Scalar');

/** Fused in training only: in prediction, tfjs's own code is one kernel. */
export const callBatchNormalization: AccLayerCall<BatchNormalizationLayer> = (layer, x, kwargs, backend) => {
  const { gamma, beta, epsilon, momentum, movingMean, movingVariance } = layer;
  const axis = layer.axis < 0 ? layer.axis + x.rank : layer.axis;
  // tfjs throws if gamma or beta is missing, or for other ranks. libtorch needs more than one value
  // per channel to compute a variance.
  const isFusable = gamma && beta && x.rank >= 2 && x.rank <= 4 && x.size > x.shape[axis]!;
  if (!kwargs.training || !isFusable) return undefined;
  const y = batchNormFunction.run([x, gamma.read(), beta.read()], { epsilon, axis });
  const { mean, variance } = batchStatistics(backend, y);
  move(backend, movingMean, mean, momentum);
  move(backend, movingVariance, variance, momentum);
  return y;
};

/** statistic ← momentum · statistic + (1 − momentum) · value */
function move(backend: AccBackend, statistic: LayerVariable, value: NativeTensor, momentum: number): void {
  const before = statistic.read();
  const native = interpolate(backend.native(before), value, 1 - momentum);
  const after = backend.tensorOf(native, 'float32');
  statistic.write(after);
  after.dispose();
}
