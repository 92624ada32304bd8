import type { Collective } from '@acc/contract';
import type { Variable } from '@tensorflow/tfjs-core';
import { formatName, packedOf } from '@acc/kernels';
import { requireSameLists } from './same-lists.js';

/**
 * Requires that names, shapes and dtypes are the same on every rank.
 *
 * @throws AccError `ACC_VARIABLES_DIFFER` with the first differences on each rank.
 */
export function requireSameVariables(variables: readonly Variable[], collective: Collective): void {
  const local = variables.map((variable) => {
    const { name, shape, dtype } = variable;
    const packed = packedOf(variable);
    const stored = packed
      ? ` as ${formatName(packed.records.format)}${packed.dynamic ? ' with rounded inputs' : ''}`
      : '';
    return `${name} ${dtype}[${shape.join(',')}]${stored}`;
  });
  const lists = collective.named('the variables to prepare', () => collective.allGatherObject(local));
  requireSameLists(lists, {
    code: 'ACC_VARIABLES_DIFFER',
    message: 'Ranks prepared different variables',
    help: 'Build the same models in the same order on every rank before prepare.',
    entry: 'variable',
  });
}
