import { engine, Variable, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import type { Defer, DeferredTensor } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { layerPrototype, patch, replaceData, type LayerPrototype, type Undo } from '@acc/tfjs-internals';
import { dropWhenCollected, EmptyWeight, noteEmpty, type InitialValues } from './empty-weight.js';
import { cannotDefer, notAFunction, notSynchronous } from '../errors.js';
import { converted, valuesOf, type Initializer } from './initial-values.js';
import { isOffloadable } from '../value-bytes.js';
import { keptValues } from './kept-values.js';

let isActive = false;

/**
 * Builds a model whose weights have names, shapes and dtypes, but no memory. `accelerator.prepare`
 * fills them with the values that they would have been created with; `loadModel`,
 * `loadCheckpointAndDispatch` and `loadState` fill them from files. Until then, reading one is an
 * error.
 *
 * Initializers of tfjs-layers run when their weight is filled. Values that a program computes for a
 * `tf.variable`, or an initializer of its own, are computed at once, and go to a file in the
 * system's temporary folder.
 *
 * @param build Builds the model synchronously.
 * @returns What `build` returns.
 * @throws AccError `ACC_WEIGHT_EMPTY` from reads of an empty weight. `ACC_INVALID_ARGUMENT`,
 * `ACC_BACKEND_CANNOT`.
 */
export function initEmptyWeights<T>(build: () => T): T {
  if (typeof build !== 'function') throw notAFunction(build);
  if (isActive) return build();
  const undos = [emptyVariables(), emptyLayers()];
  isActive = true;
  let built: T;
  try {
    built = build();
  } finally {
    isActive = false;
    for (const undo of undos.reverse()) undo();
  }
  if (typeof (built as { then?: unknown } | null | undefined)?.then === 'function') throw notSynchronous();
  return built;
}

/** The empty weights of tensors without memory that a variable is about to be made of. */
const emptyOf = new WeakMap<Tensor, EmptyWeight>();

/** Makes tf.variable create variables without memory. */
function emptyVariables(): Undo {
  const tfjs = engine();
  return patch(tfjs, 'makeVariable', 'empty weights', (own) => (given, ...rest) => {
    const [, , dtype] = rest;
    const known = emptyOf.get(given);
    if (!known && !isOffloadable(dtype ?? given.dtype)) return own.call(tfjs, given, ...rest);
    const empty = known ?? withoutMemory(given, dtype ?? given.dtype);
    const variable = own.call(tfjs, empty.tensor, ...rest);
    noteEmpty(variable, empty);
    if (!known) empty.tensor.dispose();
    return variable;
  });
}

/** The empty weight of a variable with the values of `given`, which then has no memory either. */
function withoutMemory(input: Tensor, dtype: DataType): EmptyWeight {
  const kept = keptValues(input.clone());
  const [ofVariable, ofTensor] = sharedBy(2, kept);
  // Set if the tensor can still be read.
  const again: { readable?: DeferredTensor } = {};
  const drop = () => {
    if (!again.readable || again.readable.holders === 0) ofTensor!.drop();
    ofVariable!.drop();
  };
  const make = () => converted(kept.make(), dtype);
  const empty = create({ shape: input.shape, dtype, make, drop });
  if (input instanceof Variable) return empty;
  again.readable = readableAgain(input, kept);
  // Clones and reshaped tensors share the data.
  dropWhenCollected(input.dataId, ofTensor!);
  return empty;
}

type Droppable = Pick<InitialValues, 'drop'>;

/** `initial` is dropped when all of its users have been. */
function sharedBy(count: number, initial: Droppable): Droppable[] {
  const users = new Set<Droppable>();
  for (let i = 0; i < count; i++) {
    const user: Droppable = { drop: () => void (users.delete(user) && users.size === 0 && initial.drop()) };
    users.add(user);
  }
  return [...users];
}

/** Frees the memory of a tensor. A read of it gets the values that are kept. */
function readableAgain(input: Tensor, kept: InitialValues): DeferredTensor {
  const readable: DeferredTensor = deferOfBackend()(input, () => {
    const values = kept.make();
    readable.fill(values);
    values.dispose();
  });
  replaceData(input, readable.tensor);
  readable.tensor.dispose();
  return readable;
}

/** Makes layers create weights whose initializers have not run. */
function emptyLayers(): Undo {
  const prototype = layerPrototype();
  // tfjs-layers is not loaded.
  if (!prototype) return () => {};
  return patch(prototype, 'addWeight', 'empty weights', (own) => {
    return function (this: LayerPrototype, ...given) {
      const [name, shape, dtype, initializer, regularizer, trainable, constraint, fast] = given;
      const chosen = this.fastWeightInitDuringBuild && fast ? fast() : initializer;
      const lazy: Initializer = { apply: (...asked) => emptyValues(chosen, ...asked) };
      return own.call(this, name, shape, dtype, lazy, regularizer, trainable, constraint, () => lazy);
    };
  });
}

/** A tensor without memory in place of the initializer's. */
function emptyValues(initializer: Initializer, shape: number[], dtype: DataType = 'float32'): Tensor {
  const empty = create(valuesOf(initializer, shape, dtype));
  emptyOf.set(empty.tensor, empty);
  return empty.tensor;
}

function create(initial: InitialValues): EmptyWeight {
  return new EmptyWeight(initial, deferOfBackend());
}

function deferOfBackend(): Defer {
  const { backendName, backend } = engine();
  const { defer } = kernelLayerOf(backendName, backend);
  if (!defer) throw cannotDefer('initEmptyWeights', backendName);
  return defer;
}
