import { nestedLayers, tfjsClassName } from '@acc/tfjs-internals';
import {
  ATTENTION,
  hasDim1,
  isShard,
  type LayerConfig,
  type Mixing,
  type Place,
  type Rule,
} from './layer-use.js';

// Layers that compute along an axis, or have a weight or a random value for each place of it.

const LAST_AXIS = 'Use the last axis, of inputs of rank 3 or above.';

/** @param does What a layer does with dim 1 if that is its axis. */
function overDim1(axis: LayerConfig['axis'], shard: Place, does: string): Mixing | undefined {
  return hasDim1(axis ?? -1, shard) ? { does, instead: LAST_AXIS } : undefined;
}

export const softmax: Rule = ({ axis }, shard) => overDim1(axis, shard, 'computes a softmax over positions');

export const layerNormalization: Rule = ({ axis }, shard) =>
  overDim1(axis, shard, 'normalises over positions');

export const batchNormalization: Rule = ({ axis }, shard) =>
  overDim1(axis, shard, 'has statistics and weights for each position');

export const activation: Rule = (config, shard, use) =>
  /softmax/i.test(config.activation ?? '') ? softmax({ axis: -1 }, shard, use) : undefined;

export const concatenate: Rule = ({ axis }, shard) =>
  hasDim1(axis ?? -1, shard)
    ? { does: 'joins sequences', instead: 'Join them before the data is cut.' }
    : undefined;

export const dense: Rule = (_, { shape }) =>
  shape.length === 2 ? { does: 'sums over positions', instead: ATTENTION } : undefined;

export const prelu: Rule = ({ sharedAxes }) =>
  sharedAxes?.includes(1)
    ? undefined
    : { does: 'has a weight for each position', instead: 'Use sharedAxes: [1].' };

const oneMask: Mixing = {
  does: 'drops the same features at all positions, but each rank draws them by itself',
  instead: 'Use dropout with a mask for each position.',
};

export const spatialDropout: Rule = () => oneMask;

export const dropout: Rule = ({ noiseShape }) => (noiseShape?.[1] === 1 ? oneMask : undefined);

/** Of layers that add, multiply or compare their inputs: inputs of lower rank get dims of 1 after dim 0. */
export const merge: Rule = (_, { shape }, { inputs }) =>
  inputs.filter(isShard).every((other) => other.shape.length === shape.length)
    ? undefined
    : { does: 'combines positions with features', instead: 'Use inputs of one rank.' };

export const dot: Rule = ({ axes }, _, { inputs }) => {
  const [first, second] = inputs as readonly [Place, Place];
  const axisOf = (i: number) => (typeof axes === 'number' ? axes : axes![i]!);
  if (inputs.some((input, i) => isShard(input) && hasDim1(axisOf(i), input))) {
    return { does: 'sums over positions', instead: ATTENTION };
  }
  // The dims of the second input follow those of the first.
  const isMoved = isShard(second) && (isShard(first) || first.shape.length > 2);
  return isMoved ? { does: 'multiplies positions by other positions', instead: ATTENTION } : undefined;
};

/** A layer within sees one position, and updates moving statistics from one to the next. */
export const timeDistributed: Rule = (_, __, { layer }) =>
  [...nestedLayers([layer])].some((inner) => tfjsClassName(inner) === 'BatchNormalization')
    ? {
        does: 'updates moving statistics of batchNormalization from position to position',
        instead: 'Use batchNormalization without timeDistributed.',
      }
    : undefined;
