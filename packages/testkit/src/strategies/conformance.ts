import { backend, getBackend } from '@tensorflow/tfjs-core';
import { meshOf, type MeshSizes } from '@acc/collective';
import type { Collective, StrategyContext } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { resultOf, type CaseResult } from '../collectives/conformance.js';
import { strategyCases } from './cases.js';
import type { StrategySubject } from './subject.js';

/**
 * The context that an Accelerator gives to a strategy, on the active backend.
 *
 * @param collective All ranks. Every rank calls it.
 * @param sizes The axes of the mesh. Default: `{ data: -1 }`.
 */
export function strategyContext(collective: Collective, sizes: MeshSizes = { data: -1 }): StrategyContext {
  return {
    collective,
    mesh: meshOf(collective, sizes),
    kernels: kernelLayerOf(getBackend(), backend()),
    batchRows: () => undefined,
    runForward() {
      throw new Error('The cases of strategies have no forward passes whose backward pass comes later.');
    },
  };
}

/**
 * Runs {@link strategyCases} on this rank. Every rank of the group must call it. After a failed case
 * the others still run, unless ranks no longer make the same calls.
 */
export function runStrategyCases(subject: StrategySubject): CaseResult[] {
  return strategyCases.map(({ name, run }) => resultOf(name, () => run(subject)));
}
