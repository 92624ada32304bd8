import type { Collective } from '@acc/contract';
import { requireSameLists } from '@acc/ddp';
import type { Variable } from '@tensorflow/tfjs-core';

/** @throws AccError `ACC_UNITS_DIFFER`, on every rank, with each rank's first different units. */
export function requireSameUnits(units: readonly (readonly Variable[])[], collective: Collective): void {
  const local = units.map((unit) => unit.map(({ name }) => name).join(', '));
  requireSameLists(collective.allGatherObject(local), {
    code: 'ACC_UNITS_DIFFER',
    message: 'fsdp: ranks divide variables into different units',
    help: 'Use the same fsdp.wrap on every rank. A function must give the same answers everywhere.',
    entry: 'unit',
  });
}
