import { isModel, tfjsClassName, type LayerGraph, type SymbolicTensor } from '@acc/tfjs-internals';
import { layerMixesPositions } from '../errors.js';
import {
  isShard,
  type Dim1,
  type GraphShape,
  type LayerConfig,
  type LayerUse,
  type Place,
} from './layer-use.js';
import { ruleOf } from './mixing-rules.js';

/** Whether an object is a model of tfjs-layers. */
export const isGraph = (object: unknown): object is LayerGraph => isModel(object);

/**
 * Checks that the layers of tfjs-layers in a model, and in models within it, compute each position
 * by itself where their inputs have a shard of the sequence. Other layers are not judged: attention
 * layers see the whole sequence, and a program's own layers may.
 *
 * @param ranks The size of the axis `context`.
 * @throws AccError `ACC_CONTEXT_LAYER`.
 */
export function requirePositions(model: LayerGraph, ranks: number): void {
  const given = model.inputs.map((input) => ({ shape: input.shape, dim1: dim1OfInput(input) }));
  follow(model, given, ranks);
}

/**
 * Every tensor of rank 2 and above that enters a model is cut along dim 1. The features in an input
 * of rank 2 are not, if a loop feeds itself.
 */
function dim1OfInput({ shape }: SymbolicTensor): Dim1 {
  if (shape.length < 2) return 'other';
  return shape.length === 2 && shape[1] !== null ? 'unknown' : 'shard';
}

/** Returns what dim 1 of the model's outputs has, from what it is given. */
function follow({ inputs, outputs }: LayerGraph, given: readonly Place[], ranks: number): Dim1[] {
  const known = new Map(inputs.map(({ id }, i) => [id, given[i]!.dim1]));
  const visit = (tensor: SymbolicTensor): Dim1 => {
    const before = known.get(tensor.id);
    if (before) return before;
    const { sourceLayer: layer } = tensor;
    const places = tensor.inputs.map((input) => ({ shape: input.shape, dim1: visit(input) }));
    const siblings = outputsWith(tensor);
    const found = isGraph(layer)
      ? follow(layer, places, ranks)
      : checked({ layer, inputs: places }, siblings, ranks);
    siblings.forEach(({ id }, i) => known.set(id, found[i]!));
    return known.get(tensor.id)!;
  };
  return outputs.map(visit);
}

/** The outputs of the call that a tensor comes from. */
function outputsWith(tensor: SymbolicTensor): readonly SymbolicTensor[] {
  const isHere = ({ id }: SymbolicTensor) => id === tensor.id;
  return tensor.sourceLayer.inboundNodes.find(({ outputTensors }) => outputTensors.some(isHere))!
    .outputTensors;
}

/** Returns what dim 1 of the layer's outputs has. */
function checked(use: LayerUse, outputs: readonly SymbolicTensor[], ranks: number): Dim1[] {
  const { layer, inputs } = use;
  const className = tfjsClassName(layer);
  const shard = inputs.find(isShard);
  const rule = shard && ruleOf(className);
  const mixing = rule?.(layer.getConfig() as LayerConfig, shard!, use);
  if (mixing) {
    const found = { name: layer.name, className: className!, shape: shard!.shape };
    throw layerMixesPositions(found, mixing, ranks);
  }
  return outputs.map(({ shape }) => dim1After(use, className, shape));
}

/** The classes that make features of the features of an input of rank 2. */
const TO_FEATURES: ReadonlySet<string | undefined> = new Set(['Dense', 'RepeatVector']);

/** A layer that keeps the length of dim 1 keeps the positions there. */
function dim1After({ inputs }: LayerUse, className: string | undefined, shape: GraphShape): Dim1 {
  const shard = inputs.find(isShard);
  const from = shard ?? inputs.find(({ dim1 }) => dim1 === 'unknown');
  if (!from || shape[1] !== from.shape[1]) return 'other';
  if (shard) return 'shard';
  if (TO_FEATURES.has(className)) return 'other';
  // An embedding: the places of dim 1 were positions.
  return shape.length > 2 ? 'shard' : 'unknown';
}
