import type { LayersModel } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import { AccError, matchesGlob, parseOptions } from '@acc/contract';
import { packedOf } from '@acc/kernels';
import { isModel, isPatched, isReplaced, nestedLayers } from '@acc/tfjs-internals';
import { registerLayers } from '../layers/register.js';
import { pathOf, requireAdapters, requireNoAdapters } from './adapted-layers.js';
import { isDense, loraShape, makeLoraDense, mergeAdapter, type Dense } from './lora-dense.js';

export interface LoraOptions {
  /** The number of columns of A, and of rows of B (`r` of PEFT). */
  readonly rank: number;
  /** The product A·B is scaled by alpha / rank (`lora_alpha` of PEFT). Default 8. */
  readonly alpha?: number;
  /**
   * The names of the dense layers that get adapters, or globs, as in `parallelize`: `*` stands for any
   * characters but `/`, `**` for any. Of an attention layer, these are its parts: '**\/q_proj'.
   */
  readonly targets: readonly string[];
  /** The probability that an element of the input of A is dropped in training. Default 0. */
  readonly dropout?: number;
}

const SCHEMA = z.object({
  ...loraShape,
  alpha: loraShape.alpha.default(8),
  targets: z.array(z.string().min(1)).min(1),
});

/**
 * Low-rank adaptation (Hu et al. 2021): freezes all weights of a model, and gives dense layers an
 * adapter A `[inputs, rank]`, B `[rank, units]`, which are trained: act(x·W + b + alpha/rank · x·A·B).
 * B begins with zeros, so that the model computes what it did.
 *
 * Call it before `prepare` and before `compile`, as both note which weights are trained.
 *
 * @param model A tf.LayersModel. Its layers of the class Dense are changed in place, also those within
 * layers of this package and in nested models.
 * @returns The model itself. `model.save` saves the adapters with it; `registerLayers` lets
 * `tf.loadLayersModel` load it.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_INVALID_ARGUMENT` if it is no
 * model; `ACC_LORA_TARGETS` for a target that names no dense layer; `ACC_LORA_PRESENT`;
 * `ACC_LORA_TOO_LATE` after `compile` or `prepare`, and for a dense layer that has a hook.
 */
export function lora<M extends LayersModel>(model: M, options: LoraOptions): M {
  const { targets, ...settings } = parseOptions('lora', SCHEMA, options);
  requireModel(model, 'lora');
  requireNoAdapters(model, 'lora');
  if (model.optimizer) throw tooLate('compiled');
  const layers = [...nestedLayers(model.layers)];
  if (layers.some((layer) => isReplaced(layer, 'call'))) throw tooLate('prepared');
  const chosen = chooseLayers(layers.filter(isDense), targets);
  requireNoHooks(chosen, 'lora');
  registerLayers();
  for (const layer of layers) freeze(layer);
  for (const layer of chosen) makeLoraDense(layer, settings);
  return model;
}

/**
 * Adds each adapter to its layer's kernel, W + alpha/rank · A·B, and removes it. The model computes the
 * same, up to rounding, with its first layers and weights. They stay frozen. A model that trains on has
 * to be compiled and prepared again.
 *
 * @returns The model itself.
 * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_LORA_MISSING`; `ACC_LORA_TOO_LATE` for a layer that has
 * a hook; `ACC_LORA_QUANTIZED` for a quantized kernel. Nothing has changed then.
 */
export function mergeLora<M extends LayersModel>(model: M): M {
  requireModel(model, 'mergeLora');
  const adapted = requireAdapters(model, 'mergeLora');
  requireNoHooks(adapted, 'mergeLora');
  requireFloatKernels(adapted);
  for (const layer of adapted) mergeAdapter(layer);
  return model;
}

/** A packed kernel gets no other values. */
function requireFloatKernels(adapted: readonly Dense[]): void {
  const packed = adapted.find(({ kernel }) => packedOf(kernel.read()));
  if (!packed) return;
  const { name } = packed;
  throw new AccError('ACC_LORA_QUANTIZED', `mergeLora: the kernel of the layer '${name}' is quantized.`, {
    help: 'Keep the adapters beside the quantized model. Or load them into the model in float32, merge there, and quantize then.',
    details: { layer: name },
  });
}

interface Freezable {
  readonly layers?: unknown;
  trainable: boolean;
}

/** Layers with parts stay trainable: of a layer that is not, tfjs trains no part either. */
function freeze(layer: object): void {
  const each = layer as Freezable;
  each.trainable = Array.isArray(each.layers);
}

/** @throws AccError `ACC_LORA_TARGETS`. */
function chooseLayers(dense: readonly Dense[], targets: readonly string[]): Dense[] {
  const chosen = new Set<Dense>();
  for (const target of targets) {
    const found = dense.filter(
      (layer) => matchesGlob(layer.name, target) || matchesGlob(pathOf(layer), target),
    );
    if (found.length === 0) throw noLayer(target, dense);
    for (const layer of found) chosen.add(layer);
  }
  return dense.filter((layer) => chosen.has(layer));
}

function noLayer(target: string, dense: readonly Dense[]): AccError {
  const names = dense.map(({ name }) => name);
  const shown = names.slice(0, 8).join(', ');
  const more = names.length > 8 ? ` and ${names.length - 8} more` : '';
  return new AccError('ACC_LORA_TARGETS', `lora: no dense layer has a name that matches '${target}'.`, {
    help:
      names.length > 0
        ? `Dense layers are ${shown}${more}. '*' stands for any characters but '/', '**' for any: '**/q_proj'.`
        : 'The model has no dense layers.',
    details: { target, layers: names },
  });
}

/** @throws AccError `ACC_INVALID_ARGUMENT`. */
export function requireModel(model: unknown, caller: string): void {
  if (isModel(model)) return;
  throw new AccError('ACC_INVALID_ARGUMENT', `${caller} expects a tf.LayersModel.`, {
    help: `Write ${caller}(model, …) with a model that tf.model, gpt2 or llama made.`,
  });
}

/** A hook calls the method of the class that the layer had when the hook was registered, as `prepareQat` does. */
function requireNoHooks(dense: readonly Dense[], caller: 'lora' | 'mergeLora'): void {
  const inQat = dense.find((layer) => isPatched(layer, 'call', 'fake quantization'));
  if (inQat) throw preparedForQat(inQat, caller);
  const hooked = dense.find((layer) => isPatched(layer, 'call', 'layer hooks'));
  if (!hooked) return;
  const { name } = hooked;
  throw new AccError('ACC_LORA_TOO_LATE', `${caller}: the layer '${name}' has a hook of registerHook.`, {
    help: `Take the hook away by remove() before ${caller}, and register it afterwards.`,
    details: { layer: name },
  });
}

function preparedForQat({ name }: Dense, caller: string): AccError {
  return new AccError('ACC_LORA_TOO_LATE', `${caller}: prepareQat has prepared the layer '${name}'.`, {
    help: 'Train adapters or the rounded weights. For QLoRA, call quantize and then lora.',
    details: { layer: name },
  });
}

function tooLate(what: 'compiled' | 'prepared'): AccError {
  return new AccError('ACC_LORA_TOO_LATE', `lora: the model was ${what} before it got adapters.`, {
    help: 'Call lora first, then compile and accelerator.prepare: they note which weights are trained.',
  });
}
