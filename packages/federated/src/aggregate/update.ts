/** An accepted update of one client: its weights after training minus those of the round. */
export interface ClientUpdate {
  readonly client: string;
  /** The number of samples that the client trained on, above 0. */
  readonly samples: number;
  /** All weights as one vector, in the order of the coordinator. It must not be changed. */
  readonly update: Float32Array;
}

/**
 * Combines the updates of a round into one. Updates are sorted by the client's name, so that the
 * result does not depend on the order of arrival.
 *
 * @returns The combined update, with as many elements as each of them.
 */
export type Aggregator = (updates: readonly ClientUpdate[]) => Float32Array | Float64Array;
