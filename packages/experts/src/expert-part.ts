import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective, LocalPart, KernelLayer } from '@acc/contract';
import type { Unit } from '@acc/placement';
import { besideTape } from '@acc/tfjs-internals';

/** The experts of this rank in one variable. */
export class ExpertPart implements LocalPart {
  constructor(
    private readonly unit: Unit,
    readonly group: Collective,
    readonly kernels: Pick<KernelLayer, 'recorder'>,
  ) {}

  get own(): Variable {
    besideTape(() => this.unit.takeOverAssigned());
    return this.unit.shards[0]!.local;
  }
}
