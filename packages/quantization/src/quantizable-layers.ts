import type { Variable } from '@tensorflow/tfjs-core';
import { nestedLayers, type LayerInternals, type LayerVariable } from '@acc/tfjs-internals';
import type { ChannelAxis } from '@acc/kernels';

/** A weight of a layer of tfjs-layers. */
export interface LayerWeight extends LayerVariable {
  readonly originalName: string;
  read(): Variable;
}

export interface QuantizableWeight {
  readonly weight: LayerWeight;
  readonly axis: ChannelAxis;
}

/** A built layer with the weights that its class lets quantize. */
export interface QuantizableLayer {
  readonly name: string;
  readonly className: string;
  readonly layer: LayerInternals;
  /** The layer, or the cell of a recurrent layer, which has the weights. */
  readonly holder: object;
  /** The name as weights have it, which tells nested layers of one name apart. */
  readonly path: string;
  readonly weights: readonly QuantizableWeight[];
  /** Whether the layer is a product with its matrix, which may round its input. */
  readonly isProduct: boolean;
}

const KERNEL: readonly (readonly [string, ChannelAxis])[] = [['kernel', 'last']];
const TABLE: readonly (readonly [string, ChannelAxis])[] = [['embeddings', 'first']];
const RECURRENT: readonly (readonly [string, ChannelAxis])[] = [
  ['kernel', 'last'],
  ['recurrentKernel', 'last'],
];

/** The weights of a class by their members, and the dim of their output channels. */
const WEIGHTS: Readonly<Record<string, typeof KERNEL>> = {
  Dense: KERNEL,
  LoraDense: KERNEL,
  Conv1D: KERNEL,
  Conv2D: KERNEL,
  Conv3D: KERNEL,
  Embedding: TABLE,
  TokenEmbedding: TABLE,
  GRU: RECURRENT,
  LSTM: RECURRENT,
  SimpleRNN: RECURRENT,
};

/** The classes that multiply with their matrix. A table is also a matrix of tied output layers. */
const PRODUCTS: ReadonlySet<string> = new Set(['Dense', 'LoraDense', 'TokenEmbedding']);

interface Candidate {
  readonly name: string;
  readonly cell?: object;
  readonly table?: LayerWeight | undefined;
  getClassName?(): string;
}

/** The built layers of a model that can be quantized, also those in layers and in nested models. */
export function quantizableLayers(layers: readonly unknown[]): QuantizableLayer[] {
  return [...nestedLayers(layers)].flatMap((layer) => quantizable(layer as Candidate) ?? []);
}

function quantizable(layer: Candidate): QuantizableLayer | undefined {
  const className = layer.getClassName?.() ?? '';
  const members = WEIGHTS[className];
  if (!members) return undefined;
  const holder = (layer.cell ?? layer) as Readonly<Record<string, LayerWeight | undefined>>;
  const weights = members.flatMap(([member, axis]) => {
    const weight = holder[member] ?? weightNamed(layer, member);
    return weight ? [{ weight, axis }] : [];
  });
  if (weights.length < members.length) return undefined;
  const path = weights[0]!.weight.originalName.replace(/\/[^/]*$/, '');
  const isProduct = PRODUCTS.has(className);
  return { name: layer.name, className, layer: layer as never, holder, path, weights, isProduct };
}

/** For a class that keeps its weight in a private member. */
function weightNamed(layer: object, name: string): LayerWeight | undefined {
  const { weights = [] } = layer as { readonly weights?: readonly LayerWeight[] };
  return weights.find(({ originalName }) => originalName.endsWith(`/${name}`));
}
