import { OneHot, type OneHotAttrs, type TensorInfo } from '@tensorflow/tfjs-core';
import { lazyOf, lazyTensor, type AccBackend } from '@acc/kernels';
import { operator } from '@acc/native';
import type { RowsAt } from '@acc/contract';
import type { LocalTensors } from '../local-tensors.js';
import type { Special } from './context.js';
import { accOf } from './native.js';

const subtract = operator('aten::sub.Scalar');

/**
 * One-hot vectors are made when they are read. A loss of logits that are cut by tokens reads this
 * rank's columns of them, so no rank has one-hot vectors of the whole vocabulary.
 */
export const oneHot: Special = {
  ofWhole(context, { inputs, attrs }) {
    const { kernels, shards } = context;
    const indices = infoOf((inputs as { indices: TensorInfo }).indices);
    const { depth, dtype } = attrs as unknown as OneHotAttrs;
    const { count, index } = shards.line;
    if (depth % count !== 0) return undefined;
    const backend = accOf(kernels.backend);
    const ownDepth = depth / count;
    return lazyTensor(
      backend,
      { shape: [...indices.shape, depth], dtype },
      {
        inputs: [indices],
        whole: () => kernels.run(OneHot, { indices }, attrs),
        own: () => {
          const shifted = backend.wrap(subtract(backend.native(indices), index * ownDepth, 1), 'int32');
          // Tokens of other ranks' columns are out of range, and their rows have no one.
          const local = kernels.run(OneHot, { indices: shifted }, { ...attrs, depth: ownDepth });
          kernels.free(shifted);
          return local;
        },
      },
    );
  },
};

/**
 * An elementwise kernel of vectors that nobody has read yet, with numbers or whole tensors: its result
 * is not made yet either. So are one-hot vectors in another dtype, smoothed ones, and the gradient of
 * what they are multiplied with.
 */
export const elementwiseOfLazy = (kernelName: string): Special => ({
  ofWhole({ kernels, shards }, { inputs, attrs }) {
    const { x, a, b } = inputs as Record<string, TensorInfo | undefined>;
    const lazy = [x, a, b].find((each) => each && lazyOf(each));
    if (!lazy) return undefined;
    const { shape } = lazy;
    const { dtype = lazy.dtype } = (attrs ?? {}) as { readonly dtype?: TensorInfo['dtype'] };
    const given = Object.entries({ x, a, b }).flatMap(([name, each]) =>
      each ? [{ name, x: infoOf(each) }] : [],
    );
    const backend = accOf(kernels.backend);
    const follow = given.every((each) => canFollow(each.x, shape, backend));
    if (shape.at(-1) !== lazyOf(lazy)!.columns || !follow || (x && x.dtype === dtype)) return undefined;
    const run = (list: readonly Named[]): TensorInfo =>
      kernels.run(kernelName, Object.fromEntries(list.map((each) => [each.name, each.x])), attrs ?? {});
    return lazyTensor(
      backend,
      { shape, dtype },
      {
        inputs: given.map((each) => each.x),
        whole: () => run(given),
        own() {
          const parts = given.map((each) => ownColumns(each, shape.at(-1)!, shards));
          const local = run(parts);
          for (const [i, part] of parts.entries()) if (part !== given[i]) kernels.free(part.x);
          return local;
        },
      },
    );
  },
});

/** An input of a kernel. */
interface Named {
  readonly name: string;
  readonly x: TensorInfo;
}

/** This rank's columns of an input that has them. */
function ownColumns(given: Named, columns: number, shards: LocalTensors): Named {
  const { name, x } = given;
  return x.shape.at(-1) === columns ? { name, x: shards.cut(x, lastDim(x)) } : given;
}

const lastDim = ({ shape }: TensorInfo): RowsAt => ({ dim: shape.length - 1, times: 1 });

/** A tensor without its methods: it may be disposed before its data is. */
const infoOf = ({ dataId, shape, dtype }: TensorInfo): TensorInfo => ({ dataId, shape, dtype });

/** Whether `x` broadcasts to `shape`, and has values that stay, not in 16 bits. Steps change variables. */
function canFollow(x: TensorInfo, shape: readonly number[], backend: AccBackend): boolean {
  if (x.shape.length > shape.length || backend.nativeDtypeOf(x) !== x.dtype) return false;
  const first = shape.length - x.shape.length;
  const { isDeferred, isOfVariable } = x.dataId as Readonly<Record<string, boolean | undefined>>;
  return !isDeferred && !isOfVariable && x.shape.every((size, i) => size === 1 || size === shape[first + i]);
}
