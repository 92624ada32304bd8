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
import { activeAcc } from '../acc-layer/active-acc.js';
import { isTaped } from '../tape.js';
import type { TensorData } from '../tensor-data.js';

// For a gradient tfjs can save whole tensors only, and they stay in memory until then. Many gradient functions just ask
// what shape an input had, or for what a kernel attached to its result.

/** Kernels of whose saved tensors tfjs's own gradient function takes shape and dtype only. */
export const SHAPES_SUFFICE = [
  ...[Add, Sub, AddN],
  ...[Concat, Pack, Slice, PadV2, MirrorPad],
  ...[Reshape, ExpandDims, Cumsum],
] as const;

/** What a gradient function takes no values of: all that is saved for it, or the last of it, only what is attached there. */
type Valueless = 'all' | 'last' | 'firstAndLast';
type ValuelessOf = Valueless | ((saved: readonly Tensor[], backend: AccBackend) => Valueless);

const valueless = new WeakMap<GradConfig, ValuelessOf>();

/** Says what values `config`'s function does without, in each call where that differs. Returns `config`. */
export function withoutValues(config: GradConfig, which: ValuelessOf = 'all'): GradConfig {
  valueless.set(config, which);
  return config;
}

/** To be returned by a kernel in place of `info`, when its gradient takes no values of the result. */
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

/** See {@link ValuelessResult.scopeId}; undefined for all that {@link resultWithoutValues} did not give. */
function valuelessScopeOf({ id, dataId }: Tensor): number | undefined {
  const { valuelessResult } = dataId as Partial<TensorData>;
  return valuelessResult?.tensorId === id ? valuelessResult.scopeId : undefined;
}

/** Whether `tensor`, saved for a gradient, has no values. */
export const isStandIn = ({ dataId }: Tensor): boolean => !!(dataId as Partial<TensorData>).isStandIn;

let isInstalled = false;

/** From now on tfjs saves stand-ins where gradient functions need no values. May be called again. */
export function saveShapesOnly(): void {
  if (isInstalled) return;
  isInstalled = true;
  const inside = engineInternals();
  const keep = (info: TensorInfo) => {
    const made = inside.makeTensorFromTensorInfo(info, backend());
    made.kept = true;
    return made;
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
    if (without === 'all') return tensors.map((tensor) => keep(current.standIn(tensor)));
    const [first, ...others] = tensors.slice(0, -1);
    const last = keep(current.standInWithAttached(tensors.at(-1)!));
    return first
      ? [without === 'last' ? first : keep(current.standInWithAttached(first)), ...others, last]
      : [last];
  });
  // What operators with a gradient function of their own save comes here directly, while their scope lasts.
  replaceForGood(inside, 'clone', (own) => (tensor) => {
    if (valuelessScopeOf(tensor) !== inside.state.activeScope.id) return own.call(inside, tensor);
    const current = activeAcc();
    return current ? keep(current.standIn(tensor)) : own.call(inside, tensor);
  });
  // Others it clones, by a kernel that would look at values in debug mode.
  replaceForGood(
    inside,
    'saveTensorsForBackwardMode',
    (own) => (tensors) =>
      tensors.map((tensor) => (isStandIn(tensor) && tensor.kept ? tensor : own.call(inside, [tensor])[0]!)),
  );
}
