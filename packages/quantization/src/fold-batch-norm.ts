import { add, mul, rsqrt, sub, tidy, zerosLike, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { isPrepared } from '@acc/contract';
import {
  nestedLayers,
  patch,
  tfjsClassName,
  type BatchNormalizationLayer,
  type Conv2DLayer,
  type DenseLayer,
  type GraphLayer,
  type LayerGraph,
  type LayerVariable,
} from '@acc/tfjs-internals';
import { cannotFold, foldedInTraining } from './errors.js';
import type { QuantizableLayer } from './quantizable-layers.js';

/** A layer, and the batch normalization that follows it. */
interface Fold {
  readonly layer: DenseLayer & GraphLayer;
  readonly norm: BatchNormalizationLayer & GraphLayer;
}

/** The classes with a product of which a factor for each channel can be a part. Their channels are the last dim. */
const CLASSES: ReadonlySet<string> = new Set(['Dense', 'Conv1D', 'Conv2D', 'Conv3D']);

/**
 * Finds the layers that a batch normalization follows.
 *
 * @throws AccError `ACC_FOLD` if one of them cannot be folded, or if there is none.
 */
export function foldsOf(model: LayerGraph, chosen: readonly QuantizableLayer[]): Fold[] {
  const found = chosen.flatMap(({ className, layer }) => {
    const folded = layer as Fold['layer'];
    const next = CLASSES.has(className) ? (folded.outboundNodes ?? []) : [];
    const norm = next.find(({ outboundLayer }) => tfjsClassName(outboundLayer) === 'BatchNormalization');
    return norm ? [{ layer: folded, norm: norm.outboundLayer as Fold['norm'] }] : [];
  });
  if (found.length === 0)
    throw cannotFold(undefined, 'no layer that is quantized is followed by a batch normalization');
  for (const each of found) {
    const reason = obstacle(model, each);
    if (reason) throw cannotFold(`${each.layer.name}' with '${each.norm.name}`, reason);
  }
  return found;
}

function obstacle(model: LayerGraph, { layer, norm }: Fold): string | undefined {
  const activation = layer.activation?.getClassName() ?? 'linear';
  if (activation !== 'linear') return `the activation '${activation}' lies between them`;
  if (layer.inboundNodes.length > 1 || norm.inboundNodes.length > 1)
    return 'one of them is used more than once';
  if (layer.outboundNodes.length > 1 || isOutput(model, layer)) {
    return 'the result of the layer is also used elsewhere';
  }
  const rank = layer.inboundNodes[0]!.outputTensors[0]!.shape.length;
  if (norm.axis !== -1 && norm.axis !== rank - 1)
    return `it normalizes along dim ${norm.axis}, and channels are the last`;
  const { dataFormat } = layer as Partial<Conv2DLayer>;
  if (dataFormat === 'channelsFirst') return 'its channels come first';
  const variables = [...norm.weights, ...layer.weights].map((weight) => weight.read());
  return variables.some((variable) => isPrepared(variable)) ? 'one of them is prepared already' : undefined;
}

/** Whether the model, or one within it, gives the result of a layer. */
function isOutput(model: LayerGraph, layer: GraphLayer): boolean {
  const models = [model, ...nestedLayers(model.layers)] as Partial<LayerGraph>[];
  return models.some(({ outputs = [] }) => outputs.some(({ sourceLayer }) => sourceLayer === layer));
}

/**
 * Multiplies the factors of a batch normalization into the kernel before it, and adds its shift to the bias (Jacob et
 * al. 2018, section 3.2). The normalization stays in the model, as one that changes nothing: mean 0, variance
 * 1 - epsilon, no other factor or shift. Of a layer without a bias, its mean keeps the shift. In training, it is
 * refused from now on.
 */
export function fold({ layer, norm }: Fold): void {
  tidy(() => {
    const { movingMean, movingVariance, gamma, beta, epsilon } = norm;
    const [mean, variance] = [movingMean.read(), movingVariance.read()];
    const inverse = rsqrt(add(variance, epsilon));
    const factor = gamma ? mul(gamma.read(), inverse) : inverse;
    const ofMean = mul(mean, factor);
    const shift = beta ? sub(beta.read(), ofMean) : sub(zerosLike(ofMean), ofMean);
    write(layer.kernel, mul(layer.kernel.read(), factor));
    if (layer.bias) write(layer.bias, add(mul(layer.bias.read(), factor), shift));
    write(movingMean, layer.bias ? zerosLike(mean) : sub(zerosLike(shift), shift));
    write(movingVariance, sub(add(zerosLike(variance), 1), epsilon));
    if (gamma) write(gamma, add(zerosLike(gamma.read()), 1));
    if (beta) write(beta, zerosLike(beta.read()));
  });
  refuseTraining(norm);
}

function write(weight: LayerVariable, value: Tensor): void {
  (weight.read() as Variable).assign(value);
}

/** Statistics of a batch would normalize once more. */
function refuseTraining(norm: Fold['norm']): void {
  const undoCall = patch(norm, 'call', 'layer hooks', (own) => (inputs, kwargs) => {
    if (kwargs?.training) throw foldedInTraining(norm.name);
    return own.call(norm, inputs, kwargs);
  });
  const variable = norm.movingMean.read() as Variable;
  const undoDispose = patch(variable, 'dispose', 'packed values', (own) => () => {
    own.call(variable);
    undoCall();
    undoDispose();
  });
}
