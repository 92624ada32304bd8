/** The members in which models and wrappers hold other layers. */
export interface LayerNesting {
  /** Of a model. */
  readonly layers?: unknown;
  /** Of `timeDistributed`. */
  readonly layer?: unknown;
  /** Of `bidirectional`. */
  readonly forwardLayer?: unknown;
  readonly backwardLayer?: unknown;
}

/** The layers and those within them, each once: of models, of `bidirectional` and of `timeDistributed`. */
export function nestedLayers(candidates: readonly unknown[]): Iterable<object> {
  return walk(candidates, new Set());
}

function* walk(candidates: readonly unknown[], seen: Set<object>): Generator<object> {
  for (const candidate of candidates) {
    if (typeof candidate !== 'object' || candidate === null || seen.has(candidate)) continue;
    seen.add(candidate);
    yield candidate;
    const { layers, layer, forwardLayer, backwardLayer } = candidate as LayerNesting;
    yield* walk(
      [...(Array.isArray(layers) ? (layers as unknown[]) : []), layer, forwardLayer, backwardLayer],
      seen,
    );
  }
}
