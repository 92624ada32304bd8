import type { DataType, Scalar, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Kwargs } from './layer.js';

export type Apply = (inputs: unknown, kwargs?: Kwargs) => unknown;

/** A layer as a part of a model's graph. */
export interface GraphLayer {
  readonly name: string;
  readonly stateful?: boolean;
  /** Whether the layer accepts masks. */
  readonly supportsMasking: boolean;
  /** All weights, and those that are trained. */
  readonly weights: readonly { read(): Variable }[];
  readonly trainableWeights: readonly { read(): Variable }[];
  /** The penalties of its regularizers, for one call of the layer. */
  calculateLosses(): Scalar[];
  /** The mask of the results, from the inputs and their masks. */
  computeMask(inputs: Tensor[], masks: (Tensor | null)[]): Tensor | null | (Tensor | null)[];
  /** Computes the layer on tensors. For symbolic tensors it adds a node to the graph. */
  apply: Apply;
  /** The settings of the layer. */
  getConfig(): object;
  /** One node for each call of the layer on symbolic tensors. */
  readonly inboundNodes: readonly GraphNode[];
  readonly outboundNodes: readonly GraphNode[];
}

/** One call of a layer in the graph. */
export interface GraphNode {
  /** The layer that is called. */
  readonly outboundLayer: GraphLayer;
  readonly outputTensors: readonly SymbolicTensor[];
}

/** A place in a model's graph. */
export interface SymbolicTensor {
  readonly id: number;
  readonly name: string;
  readonly shape: readonly (number | null)[];
  readonly dtype: DataType;
  readonly inputs: readonly SymbolicTensor[];
  readonly sourceLayer: GraphLayer;
}

/** The layers of a model, and where values enter and leave them. */
export interface LayerGraph {
  readonly layers: readonly GraphLayer[];
  readonly inputs: readonly SymbolicTensor[];
  readonly outputs: readonly SymbolicTensor[];
}

/** A model as a graph of layers. */
export interface GraphModel extends LayerGraph {
  call: Apply;
  /** Makes the function that takes one training step. */
  makeTrainFunction(): (data: unknown[]) => unknown;
}
