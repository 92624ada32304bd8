import { add, keep, type Tensor } from '@tensorflow/tfjs-core';
import type { TapeNode } from '@acc/tfjs-internals';
import type { Pass } from './pass.js';
import type { Path } from './tape.js';

/** The second half of a backward pass: what it walks, and the gradients that it starts from. */
export class Rest {
  /** Nodes of the first half that the second one walks, too. */
  readonly later: ReadonlyMap<TapeNode, (dys: readonly (Tensor | null)[]) => void>;
  readonly #seeds = new Map<number, Tensor>();
  readonly #wanted: ReadonlySet<number>;

  /** @param pass Its path is what the second half walks. */
  constructor(
    readonly pass: Pass,
    readonly lossSeed: number | undefined,
  ) {
    this.later = new Map(
      pass.path.nodes.map(({ node }) => [
        node,
        (dys) => node.outputs.forEach(({ id }, i) => dys[i] && this.#add(id, dys[i])),
      ]),
    );
    this.#wanted = new Set([
      ...pass.xs.map(({ id }) => id),
      ...pass.path.nodes.flatMap(({ node }) => node.outputs.map(({ id }) => id)),
    ]);
  }

  /** The gradients of outputs, by tensor id. */
  get seeds(): ReadonlyMap<number, Tensor> {
    return this.#seeds;
  }

  /** Adds gradients of results that `first` does not lead to. */
  addSeeds(seeds: ReadonlyMap<number, Tensor>, first: Path): void {
    const created = new Set(first.nodes.flatMap(({ node }) => node.outputs.map(({ id }) => id)));
    for (const [id, grad] of seeds) if (!created.has(id) && this.#wanted.has(id)) this.#add(id, grad);
  }

  /** Adds gradients that the first half has found beside those that it was asked for. */
  addFound(found: ReadonlyMap<number, Tensor>): void {
    for (const [id, grad] of found) {
      if (this.#wanted.has(id) && !this.#seeds.has(id)) this.#add(id, grad);
    }
  }

  dispose(): void {
    for (const seed of this.#seeds.values()) seed.dispose();
    this.#seeds.clear();
  }

  #add(id: number, grad: Tensor): void {
    const before = this.#seeds.get(id);
    this.#seeds.set(id, keep(before ? add(before, grad) : grad.clone()));
    before?.dispose();
  }
}
