import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective, LocalPart, KernelLayer } from '@acc/contract';
import { besideTape } from '@acc/tfjs-internals';
import type { Unit } from '../unit.js';

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
