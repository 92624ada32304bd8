import { ArgMax, Max, util, type KernelConfig, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace } from '@acc/native';
import type { Special } from './context.js';
import { accOf, isShardedAlong, reduced, withRows } from './native.js';

const addTo = operatorInPlace('aten::add_.Scalar');
const argLargest = operator('aten::argmax');
const divide = operatorInPlace('aten::div_.Tensor');
const exp = operator('aten::exp');
const gather = operator('aten::gather');
const largest = operator('aten::amax');
const multiply = operator('aten::mul.Tensor');
const reshape = operator('aten::reshape');
const subtract = operator('aten::sub.Tensor');
const sum = operator('aten::sum.dim_IntList');

/** The maximum over a dim that is cut: that of this rank, then of all. */
export const maximum: Special = {
  whenSharded({ shards, kernels }, { inputs, attrs }) {
    const x = inputs!['x'] as TensorInfo;
    const state = shards.stateOf(x);
    const dims = util.parseAxisParam(attrs!['reductionIndices'] as number[], x.shape);
    if (state?.kind !== 'rows' || !dims.includes(state.at.dim)) return undefined;
    const local = kernels.run(Max, { x: shards.localShardOf(x) }, attrs);
    const all = shards.line.allReduce(local, 'max');
    kernels.free(local);
    return all;
  },
};

/** The place of the first maximum over a dim that is cut. Ranks exchange one value and one place each. */
export const argMaximum: Special = {
  whenSharded({ shards, kernels }, { inputs, attrs }) {
    const x = inputs!['x'] as TensorInfo;
    const [dim] = util.parseAxisParam(attrs!['axis'] as number, x.shape) as [number];
    if (!isShardedAlong(shards, x, dim)) return undefined;
    const backend = accOf(kernels.backend);
    const local = shards.localShardOf(x);
    const place = kernels.run(ArgMax, { x: local }, attrs);
    addTo(backend.native(place), shards.line.index * local.shape[dim]!, 1);
    const value = kernels.run(Max, { x: local }, { reductionIndices: [dim], keepDims: false });
    const size = util.sizeFromShape(place.shape);
    const all = [value, place].map((each) =>
      shards.line.join({ layout: { kind: 'rows', outer: 1, length: shards.line.count }, shard: each }),
    );
    const [values, places] = all.map((each) => reshape(backend.native(each), [shards.line.count, size]));
    using best = argLargest(values!, 0, true);
    using chosen = gather(places!, 0, best);
    const result = backend.wrap(reshape(chosen, place.shape), 'int32');
    for (const native of [values, places]) native!.dispose();
    for (const each of [place, value, ...all]) kernels.free(each);
    return result;
  },
};

/** Softmax over a dim that is cut: ranks exchange the maxima and the sums of exponentials. */
export const softmax: Special = {
  whenSharded({ shards, kernels }, { inputs, attrs }) {
    const x = inputs!['logits'] as TensorInfo;
    const dim = lastOr(attrs, x);
    if (!isShardedAlong(shards, x, dim)) return undefined;
    const backend = accOf(kernels.backend);
    const local = backend.native(shards.localShardOf(x));
    using maxima = reduced(shards, largest(local, [dim], true), 'max');
    using shifted = subtract(local, maxima, 1);
    const shares = exp(shifted);
    using sums = reduced(shards, sum(shares, [dim], true), 'sum');
    divide(shares, sums);
    return shards.hold(backend.wrap(shares, 'float32'), { kind: 'rows', at: { dim, times: 1 } }, false);
  },
};

/** y · (dy − Σ dy · y). */
export const softmaxGradient: Special = {
  whenSharded({ shards, kernels }, { inputs, attrs }) {
    const { dy, saved: y } = inputs as { dy: TensorInfo; saved: TensorInfo };
    const dim = lastOr(attrs, y);
    if (!isShardedAlong(shards, y, dim)) return undefined;
    const backend = accOf(kernels.backend);
    const shares = backend.native(shards.localShardOf(y));
    const local = withRows(shards, dy, dim, (rows) => {
      using products = multiply(backend.native(rows), shares);
      using sums = reduced(shards, sum(products, [dim], true), 'sum');
      using weighted = multiply(shares, sums);
      return backend.wrap(subtract(products, weighted, 1), 'float32');
    });
    return shards.hold(local, { kind: 'rows', at: { dim, times: 1 } }, false);
  },
};

function lastOr(attrs: Parameters<KernelConfig['kernelFunc']>[0]['attrs'], x: TensorInfo): number {
  const dim = (attrs?.['dim'] as number | undefined) ?? -1;
  return dim < 0 ? dim + x.shape.length : dim;
}
