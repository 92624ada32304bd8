/** The members in which models and wrappers hold other layers. */
export interface LayerNesting {
  /** The layers of a model. */
  readonly layers?: unknown;
  /** The layer in a `timeDistributed`. In a `bidirectional`: the layer of which its two are copies. */
  readonly layer?: unknown;
  /** The layers in a `bidirectional`. */
  readonly forwardLayer?: unknown;
  readonly backwardLayer?: unknown;
}

/**
 * The given layers and the layers within them, each once. Looks into models, `bidirectional` and
 * `timeDistributed`.
 */
export function nestedLayers(candidates: readonly unknown[]): Iterable<object> {
  return walk(candidates, new Set());
}

function* walk(candidates: readonly unknown[], seen: Set<object>): Generator<object> {
  for (const candidate of candidates) {
    if (typeof candidate !== 'object' || candidate === null || seen.has(candidate)) continue;
    seen.add(candidate);
    yield candidate;
    const { layers, layer, forwardLayer, backwardLayer } = candidate as LayerNesting;
    const within = forwardLayer ? [forwardLayer, backwardLayer] : [layer];
    yield* walk([...(Array.isArray(layers) ? (layers as unknown[]) : []), ...within], seen);
  }
}

/**
 * The given layers, each once. In place of models, the layers in them: a graph has calls of those.
 */
export function layersOfModels(candidates: readonly unknown[]): Set<object> {
  return new Set(
    candidates.flatMap((candidate) => {
      const { layers } = candidate as LayerNesting;
      return Array.isArray(layers) ? [...layersOfModels(layers)] : [candidate as object];
    }),
  );
}
