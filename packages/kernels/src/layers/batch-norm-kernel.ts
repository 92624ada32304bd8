import { add, mean, mul, reshape, rsqrt, square, sub, util, type Tensor } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { inDtypeOf } from '../families/conversion.js';
import { fusedFunction } from '../functions/fused-function.js';

interface Attrs {
  readonly epsilon: number;
  /** The dim of the channels, counted from 0. */
  readonly axis: number;
}

type Native = NativeTensor;

// As aten::native_batch_norm, but its schema says that it writes the running statistics.
const forward = operatorWithResults('aten::_native_batch_norm_legit');
const backward = operatorWithResults('aten::native_batch_norm_backward');
const zerosLike = operator('aten::zeros_like');
const scale = operatorInPlace('aten::mul_.Scalar');
const unsqueeze = operator('aten::unsqueeze');
const permute = operator('aten::permute');
const squeeze = operator('aten::squeeze.dim');

/** Normalises by the mean and the biased variance of the batch and attaches both to the result. */
export const batchNormFunction = fusedFunction<Attrs>({
  kernelName: 'AccBatchNorm',
  needsOutput: false,
  forward({ inputs: [x, gamma, beta], attrs: { epsilon, axis }, backend }) {
    const [scales, offsets] = [backend.native(gamma!), backend.native(beta!)];
    using channels = channelsSecond(backend.native(x!), axis);
    // With momentum 1, libtorch's running variance is the variance of this batch; rstd =
    // 1/√(variance + ε) does not give it exactly. libtorch divides by count − 1, so the factor
    // below makes it biased.
    const variance = zerosLike(offsets);
    using unused = zerosLike(offsets);
    const [y, mean, rstd] = forward(
      channels,
      scales,
      offsets,
      unused,
      variance,
      true,
      1,
      epsilon,
    ) as Native[];
    const count = util.sizeFromShape(x!.shape) / x!.shape[axis]!;
    scale(variance, (count - 1) / count);
    using held = y!;
    const output = backend.wrap(channelsBack(held, axis, x!.shape.length), 'float32');
    backend.attach(output, [mean!, rstd!, variance]);
    return output;
  },
  backward({ dy, inputs: [x, gamma], output, attrs: { epsilon, axis }, backend }) {
    const [mean, rstd] = backend.attached(output) as [Native, Native];
    const native = backend.native(x!);
    using given = inDtypeOf(native, backend.native(dy));
    using dyChannels = channelsSecond(given, axis);
    using channels = channelsSecond(native, axis);
    const weights = [backend.native(gamma!), null, null, mean, rstd] as const;
    const grads = backward(dyChannels, channels, ...weights, true, epsilon, [true, true, true]) as Native[];
    const [dx, ...others] = grads;
    using held = dx!;
    return [channelsBack(held, axis, native.shape.length), ...others].map((grad) =>
      backend.wrap(grad, 'float32'),
    );
  },
  plain([x, gamma, beta], { epsilon, axis }) {
    const others = x!.shape.flatMap((_, dim) => (dim === axis ? [] : [dim]));
    const shape = x!.shape.map((length, dim) => (dim === axis ? length : 1));
    const centred = sub(x!, mean(x!, others, true));
    const factor = mul(rsqrt(add(mean(square(centred), others, true), epsilon)), reshape(gamma!, shape));
    return add(mul(centred, factor), reshape(beta!, shape));
  },
});

/** The mean and the biased variance of the batch whose normalised values are `y`. Borrowed. */
export function batchStatistics(backend: AccBackend, y: Tensor): { mean: Native; variance: Native } {
  const [mean, , variance] = backend.attached(y) as [Native, Native, Native];
  return { mean, variance };
}

/**
 * A view of `x` with the channels in dim 1, as libtorch expects. A tensor of rank 3 gets a dim of
 * length 1, because libtorch detects channels-last memory only with four dims. Caller disposes.
 */
function channelsSecond(x: Native, axis: number): Native {
  const rank = x.shape.length;
  if (rank !== 3 || axis === 0) return permute(x, moved(rank, axis, 1));
  using wide = unsqueeze(x, 1);
  return permute(wide, moved(rank + 1, axis + 1, 1));
}

/** Undoes {@link channelsSecond}. Caller disposes. */
function channelsBack(y: Native, axis: number, rank: number): Native {
  if (y.shape.length === rank) return permute(y, moved(rank, 1, axis));
  using back = permute(y, moved(rank + 1, 1, axis + 1));
  return squeeze(back, 1);
}

/** The order of dims after the dim at `from` has moved to `to`. */
function moved(rank: number, from: number, to: number): number[] {
  const dims = Array.from({ length: rank }, (_, dim) => dim);
  dims.splice(to, 0, ...dims.splice(from, 1));
  return dims;
}
