import {
  engineInternals,
  nestedLayers,
  patch,
  type LayerInternals,
  type TapeNode,
  type Undo,
} from '@acc/tfjs-internals';

/** The layer whose operators run. */
export interface LayerScope {
  /** The names of the layer and of the models around it within the prepared one: `encoder/dense_1`. */
  readonly layer: string;
  readonly isBackward: boolean;
}

type Gradient = NonNullable<TapeNode['gradient']>;

/** Knows the layer to which an operator belongs, forward and backward, from `begin` to `end`. */
export class LayerScopes {
  #current: LayerScope | undefined;
  #undo: Undo[] = [];
  /** Nodes of the tape that belong to a layer. */
  #known = new WeakSet<TapeNode>();

  /** Undefined outside of layers. */
  get current(): LayerScope | undefined {
    return this.#current;
  }

  begin(models: Iterable<object>): void {
    const layers = [...models].flatMap((model) => (model as { layers?: readonly object[] }).layers ?? []);
    for (const layer of nestedLayers(layers)) {
      const { name, call } = layer as Partial<LayerInternals> & { readonly name?: string };
      if (call) this.#undo.push(this.#observe(layer as LayerInternals, name ?? layer.constructor.name));
    }
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#current = undefined;
  }

  #observe(layer: LayerInternals, name: string): Undo {
    return patch(layer, 'call', 'layer hooks', (own) => (inputs, kwargs) => {
      const outer = this.#current;
      const path = outer ? `${outer.layer}/${name}` : name;
      const scope = { layer: path, isBackward: outer?.isBackward ?? false };
      const before = engineInternals().state.activeTape?.length ?? 0;
      try {
        return this.#within(scope, () => own.call(layer, inputs, kwargs));
      } finally {
        const tape = engineInternals().state.activeTape ?? [];
        for (const node of tape.slice(before)) this.#mark(node, path);
      }
    });
  }

  /** Lets the gradient of a node run in the scope of the innermost layer that recorded it. */
  #mark(node: TapeNode, layer: string): void {
    const { gradient } = node;
    if (!gradient || this.#known.has(node)) return;
    this.#known.add(node);
    const scope = { layer, isBackward: true };
    const inScope: Gradient = (dys, asked) => {
      const parts = Object.entries(this.#within(scope, () => gradient(dys, asked)));
      return Object.fromEntries(parts.map(([input, part]) => [input, () => this.#within(scope, part)]));
    };
    Object.assign(node, { gradient: inScope });
  }

  #within<T>(scope: LayerScope, compute: () => T): T {
    const outer = this.#current;
    this.#current = scope;
    try {
      return compute();
    } finally {
      this.#current = outer;
    }
  }
}
