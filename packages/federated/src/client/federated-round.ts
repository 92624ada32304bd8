import {
  addN,
  keep,
  mul,
  scalar,
  square,
  sub,
  sum,
  tidy,
  type Scalar,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { WeightLayout } from '../protocol/layout.js';
import { tensorsOf, type WeightSource } from '../weights/weight-source.js';

/** A round, for the function that trains in it. */
export interface FederatedRound {
  /** The number of the round, from 0. */
  readonly round: number;
  /** The number of rounds of the run. */
  readonly rounds: number;
  /** The factor of the proximal term. 0: the coordinator asks for none. */
  readonly proximalMu: number;
  /** Aborted if the result is no longer wanted. */
  readonly signal: AbortSignal;
  /**
   * The proximal term of FedProx, μ/2 · ‖w − w_t‖² over the trained weights, where w_t are those
   * that the coordinator sent. Add it to the loss inside `minimize`; its gradient is μ (w − w_t).
   * A scalar of float32, which belongs to the caller. 0 if `proximalMu` is 0.
   *
   * Source: Li et al., "Federated Optimization in Heterogeneous Networks" (MLSys 2020), equation 2.
   */
  proximalTerm(): Scalar;
}

export interface RoundParts {
  readonly round: number;
  readonly rounds: number;
  readonly proximalMu: number;
  readonly signal: AbortSignal;
  readonly source: WeightSource;
  /** The position in `source` of each weight of the coordinator. */
  readonly order: readonly number[];
  readonly layout: WeightLayout;
  /** The weights that the coordinator sent. */
  readonly received: Float32Array;
}

/** A round of a client. It holds a copy of the received weights if there is a proximal term. */
export class ClientRound implements FederatedRound {
  readonly round: number;
  readonly rounds: number;
  readonly proximalMu: number;
  readonly signal: AbortSignal;
  readonly #parts: RoundParts;
  #anchors: readonly Tensor[] = [];
  #isTermUsed = false;

  constructor(parts: RoundParts) {
    this.#parts = parts;
    ({ round: this.round, rounds: this.rounds, proximalMu: this.proximalMu, signal: this.signal } = parts);
    if (this.proximalMu > 0)
      this.#anchors = tensorsOf(parts.received, parts.layout).map((each) => keep(each));
  }

  /** Whether a proximal term that the coordinator asks for was never used. */
  get lacksTerm(): boolean {
    return this.proximalMu > 0 && !this.#isTermUsed;
  }

  proximalTerm(): Scalar {
    this.#isTermUsed = true;
    const { source, order } = this.#parts;
    return tidy(() => {
      const tensors = source.tensors();
      const terms = order.flatMap((position, i) =>
        source.isTrained[position] && this.#anchors[i]
          ? [sum(square(sub(tensors[position]!, this.#anchors[i])))]
          : [],
      );
      return terms.length === 0 ? scalar(0) : mul<Scalar>(addN(terms), this.proximalMu / 2);
    });
  }

  dispose(): void {
    for (const anchor of this.#anchors) anchor.dispose();
    this.#anchors = [];
  }
}
