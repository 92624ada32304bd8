import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import type { PartLayout, PartsLayer } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { sumInPairs } from './sum-in-pairs.js';

const add = operator('aten::add.Tensor');
const multiply = operatorInPlace('aten::mul_.Scalar');
const cat = operator('aten::cat');
const clone = operator('aten::clone');
const reshape = operator('aten::reshape');
const select = operator('aten::select.int');

/** libtorch's number of the memory format. */
const CONTIGUOUS = 0;

/** Parts of tensors of the backend `acc`. The whole is made when somebody asks for it. */
export function nativeParts(backend: AccBackend): PartsLayer {
  const cut: PartsLayer['cut'] = (x, { outer, count, shape }) => {
    using repetitions = reshape(backend.native(x), [outer, count, util.sizeFromShape(shape) / outer]);
    return Array.from({ length: count }, (_, k) => {
      using own = select(repetitions, 1, k);
      // Not a view: how a part lies in memory must not depend on how many there are.
      using copy = clone(own, CONTIGUOUS);
      return backend.wrap(reshape(copy, shape), x.dtype);
    });
  };
  return {
    cut,
    hold({ shape, dtype, layout }, parts) {
      const count = parts.length;
      if (count > 1) {
        return backend.wrapParts({ shape, dtype }, { layout, count, parts }, () =>
          joined(backend, parts, layout, shape),
        );
      }
      const [{ dataId }] = parts as readonly [TensorInfo];
      backend.setParts(parts[0]!, { layout, count });
      return { dataId, shape, dtype };
    },
    divide(x, count) {
      if (backend.partsOf(x)?.count === count) return;
      const [length, ...rest] = x.shape as [number, ...number[]];
      const parts = cut(x, { outer: 1, count, shape: [length / count, ...rest] });
      backend.setParts(x, { layout: { kind: 'rows', outer: 1, length }, count, parts });
    },
    of(x) {
      const parted = backend.partsOf(x);
      return parted && { layout: parted.layout, parts: parted.parts ?? [x] };
    },
    join: (x) => backend.wrap(backend.native(x).alias(), x.dtype),
  };
}

/** Caller disposes. */
function joined(
  backend: AccBackend,
  parts: readonly TensorInfo[],
  layout: PartLayout,
  shape: readonly number[],
): NativeTensor {
  const natives = parts.map((part) => backend.native(part));
  if (layout.kind === 'rows') {
    const repetitions = natives.map((native) => reshape(native, [layout.outer, -1]));
    try {
      using whole = cat(repetitions, 1);
      return reshape(whole, shape);
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
