import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import type { ShardLayout, ShardsLayer } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { sumInPairs } from './sum-in-pairs.js';

const add = operator('aten::add.Tensor');
const multiply = operatorInPlace('aten::mul_.Scalar');
const cat = operator('aten::cat');
const clone = operator('aten::clone');
const reshape = operator('aten::reshape');
const select = operator('aten::select.int');

/** libtorch's constant for the row-major memory format. */
const CONTIGUOUS = 0;

/** Shards of tensors of the backend `acc`. The whole tensor is made when it is first needed. */
export function nativeShards(backend: AccBackend): ShardsLayer {
  const cut: ShardsLayer['cut'] = (x, { outer, count, shape }) => {
    using repetitions = reshape(backend.native(x), [outer, count, util.sizeFromShape(shape) / outer]);
    return Array.from({ length: count }, (_, k) => {
      using own = select(repetitions, 1, k);
      // A copy, not a view: the memory layout of a shard must not depend on the number of shards.
      using copy = clone(own, CONTIGUOUS);
      return backend.wrap(reshape(copy, shape), x.dtype);
    });
  };
  return {
    cut,
    hold({ shape, dtype, layout }, shards) {
      const count = shards.length;
      if (count > 1) {
        return backend.wrapShards({ shape, dtype }, { layout, count, shards }, () =>
          joined(backend, shards, layout, shape),
        );
      }
      const [{ dataId }] = shards as readonly [TensorInfo];
      backend.setShards(shards[0]!, { layout, count });
      return { dataId, shape, dtype };
    },
    divide(x, count) {
      if (backend.shardsOf(x)?.count === count) return;
      const [length, ...rest] = x.shape as [number, ...number[]];
      const shards = cut(x, { outer: 1, count, shape: [length / count, ...rest] });
      backend.setShards(x, { layout: { kind: 'rows', outer: 1, length }, count, shards });
    },
    of(x) {
      const inShards = backend.shardsOf(x);
      return inShards && { layout: inShards.layout, shards: inShards.shards ?? [x] };
    },
    join: (x) => backend.wrap(backend.native(x).alias(), x.dtype),
  };
}

/** Makes the whole tensor from its shards. Caller disposes. */
function joined(
  backend: AccBackend,
  shards: readonly TensorInfo[],
  layout: ShardLayout,
  shape: readonly number[],
): NativeTensor {
  const natives = shards.map((shard) => backend.native(shard));
  if (layout.kind === 'rows') {
    const repetitions = natives.map((native) => reshape(native, [layout.outer, -1]));
    try {
      using full = cat(repetitions, 1);
      return reshape(full, shape);
    } finally {
      for (const tensor of repetitions) tensor.dispose();
    }
  }
  const sum = sumInPairs(
    natives,
    (a, b) => add(a, b),
    (partial) => partial.dispose(),
  );
  if (layout.scale !== 1) multiply(sum, layout.scale);
  return sum;
}
