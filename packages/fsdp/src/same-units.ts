import { AccError, type Collective } from '@acc/contract';
import type { Variable } from '@tensorflow/tfjs-core';

/** @throws AccError `ACC_UNITS_DIFFER`, on every rank, with each rank's first different unit. */
export function requireSameUnits(units: readonly (readonly Variable[])[], collective: Collective): void {
  const own = units.map((unit) => unit.map(({ name }) => name));
  const ranks = collective.allGatherObject(own);
  const most = Math.max(...ranks.map((each) => each.length));
  const textOf = (names: readonly string[] | undefined) => (names ? names.join(', ') : '(none)');
  for (let i = 0; i < most; i++) {
    const sides = ranks.map((each) => textOf(each[i]));
    if (sides.every((side) => side === sides[0])) continue;
    const lines = sides.map((side, rank) => `    rank ${rank}: ${side}`);
    throw new AccError(
      'ACC_UNITS_DIFFER',
      `fsdp: ranks divide variables into different units.\n  unit ${i}:\n${lines.join('\n')}`,
      {
        help: 'Use the same fsdp.wrap on every rank. A function must give the same answers everywhere.',
        details: { unit: i, ranks: sides },
      },
    );
  }
}
