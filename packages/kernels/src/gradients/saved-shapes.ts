import {
  Add,
  AddN,
  backend,
  Concat,
  Cumsum,
  ExpandDims,
  getGradient,
  MirrorPad,
  Pack,
  PadV2,
  Reshape,
  Slice,
  Sub,
  type GradConfig,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { engineInternals, replaceForGood } from '@acc/tfjs-internals';
import type { AccBackend } from '../backend.js';
import { activeAcc } from '#platform/active-acc';
import { isTaped } from '../tape.js';
import type { TensorData } from '../tensor-data.js';

// tfjs can only save whole tensors for a gradient, and they stay in memory until the gradient runs.
// Many gradient functions read only the shape of an input, or the tensors that a kernel attached to
// its result.

/** Kernels whose gradient function in tfjs reads only the shape and dtype of the saved tensors. */
export const SHAPES_SUFFICE = [
  ...[Add, Sub, AddN],
  ...[Concat, Pack, Slice, PadV2, MirrorPad],
  ...[Reshape, ExpandDims, Cumsum],
] as const;

/**
 * The saved tensors of which a gradient function reads no values: all of them, the first, the last,
 * both, or none. Of the last and the first it may read attached tensors.
 */
type Valueless = 'all' | 'first' | 'last' | 'firstAndLast' | 'none';
type ValuelessOf = Valueless | ((saved: readonly Tensor[], backend: AccBackend) => Valueless);

const valueless = new WeakMap<GradConfig, ValuelessOf>();

/**
 * Declares which saved values the gradient function of `config` does not read; a function decides
 * it for each call. Returns `config`.
 */
export function withoutValues(config: GradConfig, which: ValuelessOf = 'all'): GradConfig {
  valueless.set(config, which);
  return config;
}

/** A kernel returns this in place of `info` if its gradient reads no values of the result. */
export function resultWithoutValues(info: TensorInfo): TensorInfo {
  if (!isTaped()) return info;
  const inside = engineInternals();
  const result = inside.makeTensorFromTensorInfo(info, backend());
  const { kernelDepth, activeScope } = inside.state;
  (result.dataId as TensorData).valuelessResult = {
    tensorId: result.id,
    scopeId: kernelDepth > 1 ? activeScope.id : 0,
  };
  return result;
}

/**
 * See {@link ValuelessResult.scopeId}. Undefined for a tensor that {@link resultWithoutValues} did
 * not return.
 */
function valuelessScopeOf({ id, dataId }: Tensor): number | undefined {
  const { valuelessResult } = dataId as Partial<TensorData>;
  return valuelessResult?.tensorId === id ? valuelessResult.scopeId : undefined;
}

/** Whether `tensor` was saved for a gradient without values. */
export const isStandIn = ({ dataId }: Tensor): boolean => !!(dataId as Partial<TensorData>).isStandIn;

let isInstalled = false;

/** Makes tfjs save stand-ins wherever gradient functions read no values. May be called again. */
export function saveShapesOnly(): void {
  if (isInstalled) return;
  isInstalled = true;
  const inside = engineInternals();
  const keep = (info: TensorInfo) => {
    const created = inside.makeTensorFromTensorInfo(info, backend());
    created.kept = true;
    return created;
  };

  replaceForGood(inside, 'getTensorsForGradient', (own) => (kernelName, inputs, outputs) => {
    const tensors = own.call(inside, kernelName, inputs, outputs);
    const current = activeAcc();
    if (tensors.length === 0 || !current) return tensors;
    const which = valueless.get(getGradient(kernelName));
    if (which === undefined) {
      const isShape = (tensor: Tensor) => outputs.includes(tensor) && valuelessScopeOf(tensor) === 0;
      return tensors.map((tensor) => (isShape(tensor) ? keep(current.standIn(tensor)) : tensor));
    }
    const without = typeof which === 'function' ? which(tensors, current) : which;
    if (without === 'none') return tensors;
    if (without === 'all') return tensors.map((tensor) => keep(current.standIn(tensor)));
    return tensors.map((tensor, i) => {
      const isValueless =
        (i === 0 && without !== 'last') || (i === tensors.length - 1 && without !== 'first');
      return isValueless ? keep(current.standInWithAttached(tensor)) : tensor;
    });
  });
  // Operators with a gradient function of their own save tensors by a direct call of `clone`,
  // within their scope.
  replaceForGood(inside, 'clone', (own) => (tensor) => {
    if (valuelessScopeOf(tensor) !== inside.state.activeScope.id) return own.call(inside, tensor);
    const current = activeAcc();
    return current ? keep(current.standIn(tensor)) : own.call(inside, tensor);
  });
  // tfjs clones every saved tensor with a kernel that reads values in debug mode. Stand-ins are not
  // cloned.
  replaceForGood(
    inside,
    'saveTensorsForBackwardMode',
    (own) => (tensors) =>
      tensors.map((tensor) => (isStandIn(tensor) && tensor.kept ? tensor : own.call(inside, [tensor])[0]!)),
  );
}
