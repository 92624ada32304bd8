import type { Call, Graph, GraphNode } from '../../graph.js';
import type { Unit } from '../../units.js';

/** The node that makes a value, and the place of its unit. */
export interface Maker {
  readonly node: GraphNode;
  readonly position: number;
}

/** The units of all segments in the order in which they run. */
export class Schedule {
  readonly units: readonly Unit[];
  readonly #segments: readonly number[];
  readonly #makers = new Map<number, Maker>();
  readonly #orders: ReadonlyMap<GraphNode, number>;
  readonly #roots = new Map<number, number>();
  /** The place of the last unit that runs before a value is returned or passed to an action. */
  readonly #ends = new Map<number, number>();

  constructor(
    readonly graph: Graph,
    ordered: readonly (readonly Unit[])[],
  ) {
    this.units = ordered.flat();
    this.#segments = ordered.flatMap((units, segment) => units.map(() => segment));
    this.#orders = new Map(graph.segments.flatMap(({ nodes }) => nodes).map((node, order) => [node, order]));
    this.units.forEach(({ members }, position) => {
      for (const node of members)
        for (const value of node.results) this.#makers.set(value, { node, position });
    });
    for (const node of this.#orders.keys()) if (node.kind === 'call' && node.isView) this.#addView(node);
    let end = -1;
    graph.segments.forEach(({ outputs }, segment) => {
      end += ordered[segment]!.length;
      for (const value of outputs) this.#ends.set(value, end);
    });
  }

  segmentOf(position: number): number {
    return this.#segments[position]!;
  }

  /** Undefined for values from outside and constants. */
  makerOf(value: number): Maker | undefined {
    return this.#makers.get(value);
  }

  /** The place of a node among those of the graph. */
  orderOf(node: GraphNode): number {
    return this.#orders.get(node)!;
  }

  /** The value of which another one is a view. Others are their own roots. */
  rootOf(value: number): number {
    return this.#roots.get(value) ?? value;
  }

  isView(value: number): boolean {
    return this.rootOf(value) !== value;
  }

  /** Undefined if a value is no output of a segment. */
  endOf(value: number): number | undefined {
    return this.#ends.get(value);
  }

  #addView({ uses, results }: Call): void {
    const [first] = uses.filter((value) => value >= 0);
    if (first === undefined) return;
    const root = this.rootOf(first);
    for (const value of results) if (value >= 0 && !uses.includes(value)) this.#roots.set(value, root);
  }
}
