import { SameKeys } from '#platform/several-ranks';
import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective, KernelLayer } from '@acc/contract';
import { collectiveOnTape } from '@acc/collective';
import { mapNested, type Nested } from '@acc/tape';
import type { BatchRows } from '../step/batch-rows.js';
import { gatherReal, type Gathered, type MetricMesh } from './gather-real.js';

/** Collectives on arrays and records of tensors. Tensors of records are matched by their keys. */
export class AcrossRanks {
  readonly #sameKeys = new SameKeys();

  constructor(private readonly kernels: KernelLayer) {}

  /**
   * Applies a collective to each tensor. A compiled step calls it again in every run, because the
   * ranks must communicate again.
   *
   * @throws AccError `ACC_NOT_A_TENSOR`, `ACC_COLLECTIVE_MISMATCH`.
   */
  map<T extends Nested>(method: string, values: T, collective: Collective, call: (x: Tensor) => Tensor): T {
    this.#sameKeys.require(method, values, collective);
    return mapNested(values, (x) => collectiveOnTape(x, { run: call }, this.kernels));
  }

  /** @throws AccError `ACC_COLLECTIVE_MISMATCH`, `ACC_OBJECT_NOT_SERIALIZABLE`. */
  gatherForMetrics<T>(values: T, mesh: MetricMesh, batch: BatchRows | undefined): Gathered<T> {
    this.#sameKeys.require('gatherForMetrics', values, mesh.gradientRanks);
    return gatherReal(values, batch, mesh);
  }
}
