import type { GraphLayer } from '@acc/tfjs-internals';

/**
 * The content of dim 1 of a tensor. `shard`: the positions of this rank's shard. `unknown`:
 * positions or features, for an input `[rows, length]` of a fixed length. `other`: no positions.
 */
export type Dim1 = 'shard' | 'unknown' | 'other';

/** The shape of a tensor of a model's graph. Null: not known before the data. */
export type GraphShape = readonly (number | null)[];

/** A tensor of a model's graph. */
export interface Place {
  readonly shape: GraphShape;
  readonly dim1: Dim1;
}

/** One use of a layer in a model. */
export interface LayerUse {
  readonly layer: GraphLayer;
  readonly inputs: readonly Place[];
}

/** Why a layer cannot compute with a shard, and the next step. Both are parts of a message. */
export interface Mixing {
  readonly does: string;
  readonly instead: string;
}

/** Fields of the results of `getConfig` that the rules read. */
export interface LayerConfig {
  readonly activation?: string;
  readonly axes?: number | readonly [number, number];
  readonly axis?: number | readonly number[];
  readonly cropping?: readonly (readonly number[])[];
  readonly dataFormat?: string;
  readonly dims?: readonly number[];
  readonly kernelSize?: number | readonly number[];
  readonly noiseShape?: GraphShape | null;
  readonly padding?: readonly (readonly number[])[];
  readonly poolSize?: number | readonly number[];
  readonly sharedAxes?: readonly number[] | null;
  readonly size?: readonly number[];
  readonly strides?: number | readonly number[];
  readonly targetShape?: GraphShape;
}

/**
 * Returns why a layer of a class mixes positions, or undefined if it computes each by itself.
 *
 * @param shard The first input whose dim 1 has this rank's shard.
 */
export type Rule = (config: LayerConfig, shard: Place, use: LayerUse) => Mixing | undefined;

/** The product of the lengths of the dims after dim 1. NaN if one of them is not known. */
export function sizeOfPosition(shape: GraphShape): number {
  return shape.slice(2).reduce<number>((product, length) => product * (length ?? NaN), 1);
}

export const isShard = ({ dim1 }: Place): boolean => dim1 === 'shard';

/** Whether dim 1 of a tensor is among the axes, which may count from the end. */
export function hasDim1(axes: number | readonly number[], { shape }: Place): boolean {
  return [axes].flat().some((axis) => (axis < 0 ? axis + shape.length : axis) === 1);
}

export const ATTENTION = 'Use attention, by the layers of @acc/transformer or by scaledDotProductAttention.';
export const IN_LOSS = 'Give the results of all positions to the loss, and take their mean there.';
export const KEEP_DIM = 'Keep the positions in dim 1.';
