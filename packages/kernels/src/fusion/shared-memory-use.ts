import { Aliases } from './aliases.js';
import type { Graph, GraphNode, GraphSegment } from './graph.js';

/** Of each value, the places of its uses: nodes and ends of segments have places in one order. */
interface Uses {
  readonly last: ReadonlyMap<number, number>;
  /** The first place at which it leaves a segment. */
  readonly firstGiven: ReadonlyMap<number, number>;
}

/** Who else holds the memory of a value. It goes through the nodes of a graph in their order. */
export class SharedMemoryUse {
  readonly #aliases = new Aliases();
  readonly #made = new Set<number>();
  readonly #uses: Uses;
  #place = 0;

  constructor(graph: Graph) {
    this.#uses = usesOf(graph);
  }

  /** The segments with changed nodes and outputs. Each change sees who holds memory at its place. */
  changed(
    { segments }: Graph,
    change: (node: GraphNode) => GraphNode,
    current: (output: number) => number,
  ): GraphSegment[] {
    return segments.map(({ nodes, outputs }) => {
      const changedNodes = nodes.map((node) => {
        const now = change(node);
        this.#leave(node);
        return now;
      });
      this.#leave();
      return { nodes: changedNodes, outputs: outputs.map(current) };
    });
  }

  /** Goes on to the node, or end of a segment, after this one. */
  #leave(node?: GraphNode): void {
    this.#place++;
    if (!node) return;
    for (const value of node.results) this.#made.add(value);
    this.#aliases.add(node);
  }

  /** Notes that two values have the same memory. */
  join(value: number, other: number): void {
    this.#aliases.join([value, other]);
  }

  /** Whether something else than later nodes, which take the value itself, can read its memory. */
  isShared(value: number): boolean {
    return [...this.#aliases.of(value)].some(
      (each) =>
        !this.#made.has(each) ||
        (this.#uses.firstGiven.get(each) ?? Infinity) < this.#place ||
        (each !== value && this.#lastUse(each) >= this.#place),
    );
  }

  /** Whether later nodes take a value, or it leaves a segment later. */
  isTakenLater(value: number): boolean {
    return this.#lastUse(value) > this.#place;
  }

  #lastUse(value: number): number {
    return this.#uses.last.get(value) ?? -1;
  }
}

function usesOf({ segments }: Graph): Uses {
  const last = new Map<number, number>();
  const firstGiven = new Map<number, number>();
  let place = 0;
  for (const { nodes, outputs } of segments) {
    for (const { uses } of nodes) {
      for (const value of uses) last.set(value, place);
      place++;
    }
    for (const value of outputs) {
      last.set(value, place);
      if (!firstGiven.has(value)) firstGiven.set(value, place);
    }
    place++;
  }
  return { last, firstGiven };
}
