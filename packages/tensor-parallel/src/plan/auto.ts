import type { ParallelPart } from '@acc/contract';
import { markOf } from '../marks.js';
import { canCut, cutLayer, isDense, isRecurrent, type PlannedLayer } from './layer-cuts.js';
import { parallelPartsOf } from './parallel-parts.js';

interface GraphLayer extends PlannedLayer {
  readonly inboundNodes: readonly { readonly inboundLayers: readonly GraphLayer[] }[];
  readonly outboundNodes: readonly { readonly outboundLayer: GraphLayer }[];
  readonly activation?: { getClassName?(): string } | null;
  readonly units?: number;
}

/** Layers that compute each element by itself. */
const ELEMENTWISE: ReadonlySet<string> = new Set([
  ...[
    'Activation',
    'ReLU',
    'LeakyReLU',
    'ELU',
    'ThresholdedReLU',
    'Dropout',
    'GaussianDropout',
    'GaussianNoise',
  ],
]);

/**
 * Cuts what has a well-known cut: layers that state their own, dense → activation → dense,
 * recurrent layers by units, embeddings by tokens, and the dense layer of logits over the tokens of
 * such an embedding. Sizes and numbers of heads that the ranks cannot share stay whole, as
 * `prepare` finds.
 *
 * @returns Why each layer with weights stays whole, if all of them do. Otherwise undefined.
 */
export function cutAll(layers: readonly PlannedLayer[]): string[] | undefined {
  mark(layers);
  const weighted = layers.filter(({ weights }) => weights.length > 0);
  const isCut = weighted.some(({ weights }) => weights.some((weight) => markOf(weight.read())));
  return isCut ? undefined : weighted.map((layer) => `${layer.name}: ${reasonOf(layer as GraphLayer)}`);
}

/** Why a layer that no mark names is not cut. */
function reasonOf(layer: GraphLayer): string {
  if (!isDense(layer)) return `a ${layer.getClassName()}, for which no cut is known`;
  if (!isElementwise(layer)) return 'its softmax needs whole rows';
  return 'no dense layer alone takes its result, with only elementwise layers between';
}

function mark(layers: readonly PlannedLayer[]): void {
  const done = new Set<object>();
  const vocabularies = new Set<number>();
  for (const layer of layers) {
    const parts = parallelPartsOf(layer) ?? [];
    // All or none: they share dims.
    const areCut = parts.every((part) => canCut(part.layer as PlannedLayer, part.cut));
    for (const part of parts) {
      if (areCut) cutPart(part, done);
      else done.add(part.layer);
      if (areCut && part.cut === 'vocab') vocabularies.add(layer.weights[0]!.read().shape[0]!);
    }
  }
  for (const layer of layers) {
    if (layer.getClassName() !== 'Embedding' || done.has(layer)) continue;
    done.add(layer);
    cutLayer(layer, 'vocab', { isOptional: true });
    vocabularies.add(layer.weights[0]!.read().shape[0]!);
  }
  for (const layer of layers) if (isRecurrent(layer)) cutLayer(layer, 'column', { isOptional: true });
  for (const layer of layers as readonly GraphLayer[]) {
    if (!isDense(layer) || done.has(layer)) continue;
    const next = isElementwise(layer) ? denseAfter(layer) : undefined;
    if (next && !done.has(next)) {
      for (const each of [layer, next]) done.add(each);
      // Both or neither: they share a dim.
      cutLayer(layer, 'column', { isOptional: true });
      cutLayer(next, 'row', { isOptional: true });
    } else if (layer.outboundNodes.length === 0 && vocabularies.has(layer.units ?? -1)) {
      done.add(layer);
      cutLayer(layer, 'vocab', { isOptional: true });
    }
  }
}

function cutPart(part: ParallelPart, done: Set<object>): void {
  if (done.has(part.layer)) return;
  done.add(part.layer);
  cutLayer(part.layer as PlannedLayer, part.cut, { part, isOptional: true });
}

function isElementwise({ activation }: GraphLayer): boolean {
  return activation?.getClassName?.() !== 'softmax';
}

/** The dense layer that alone uses the result of `layer`, with nothing but elementwise layers between. */
function denseAfter(layer: GraphLayer): GraphLayer | undefined {
  let at = layer;
  for (;;) {
    const [node, ...others] = at.outboundNodes;
    if (!node || others.length > 0 || at.inboundNodes.length !== 1) return undefined;
    const next = node.outboundLayer;
    if (next.inboundNodes.length !== 1 || next.inboundNodes[0]!.inboundLayers.length !== 1) return undefined;
    if (isDense(next)) return next;
    if (!ELEMENTWISE.has(next.getClassName()) || !isElementwise(next)) return undefined;
    at = next;
  }
}
