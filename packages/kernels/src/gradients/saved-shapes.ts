import {
  Add,
  AddN,
  backend,
  Concat,
  Cumsum,
  engine,
  ExpandDims,
  getGradient,
  MirrorPad,
  Pack,
  PadV2,
  Reshape,
  Slice,
  Sub,
  type GradConfig,
  type NamedTensorMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { AccBackend } from '../backend.js';

// For a gradient tfjs can save whole tensors only, and they stay in memory until then. Many gradient functions just ask
// what shape an input had, or for what a kernel attached to its result.

/** Kernels of whose saved tensors tfjs's own gradient function takes shape and dtype only. */
export const SHAPES_SUFFICE = [
  ...[Add, Sub, AddN],
  ...[Concat, Pack, Slice, PadV2, MirrorPad],
  ...[Reshape, ExpandDims, Cumsum],
] as const;

/** What a gradient function takes no values of: all that is saved for it, or the last of it, only what is attached there. */
type Valueless = 'all' | 'last';

const valueless = new WeakMap<GradConfig, Valueless>();

/** Says what values `config`'s function does without. Returns `config`. */
export function withoutValues(config: GradConfig, which: Valueless = 'all'): GradConfig {
  valueless.set(config, which);
  return config;
}

/** The members of tfjs's engine that save for gradients. They are not in its public types; 4.x has them. */
interface EngineInside {
  getTensorsForGradient(kernelName: string, inputs: NamedTensorMap, outputs: Tensor[]): Tensor[];
  saveTensorsForBackwardMode(tensors: Tensor[]): Tensor[];
  makeTensorFromTensorInfo(info: TensorInfo): Tensor;
}

const standIns = new WeakSet<Tensor>();
let isInstalled = false;

/** From now on tfjs saves stand-ins where gradient functions need no values. May be called again. */
export function saveShapesOnly(): void {
  if (isInstalled) return;
  isInstalled = true;
  const inside = engine() as unknown as EngineInside;
  const choose = inside.getTensorsForGradient.bind(inside);
  const save = inside.saveTensorsForBackwardMode.bind(inside);
  const keep = (info: TensorInfo) => {
    const made = inside.makeTensorFromTensorInfo(info);
    made.kept = true;
    standIns.add(made);
    return made;
  };

  inside.getTensorsForGradient = (kernelName, inputs, outputs) => {
    const tensors = choose(kernelName, inputs, outputs);
    const which = valueless.get(getGradient(kernelName));
    if (which === undefined || tensors.length === 0) return tensors;
    const current = backend();
    if (!(current instanceof AccBackend)) return tensors;
    if (which === 'all') return tensors.map((tensor) => keep(current.standIn(tensor)));
    return [...tensors.slice(0, -1), keep(current.standInWithAttached(tensors.at(-1)!))];
  };
  // Others it clones, by a kernel that would look at values in debug mode.
  inside.saveTensorsForBackwardMode = (tensors) =>
    tensors.map((tensor) => (standIns.has(tensor) ? tensor : save([tensor])[0]!));
}
