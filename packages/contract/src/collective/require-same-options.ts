import type { Collective } from './collective.js';
import { AccError } from '../errors/errors.js';

/**
 * Throws if ranks have different options. Otherwise such ranks could wait for each other forever,
 * or compute different results. Every rank must call it.
 *
 * @param where The options as the user wrote them: `ddp`.
 * @param own The values that must be the same on all ranks. They must be JSON values.
 * @param help The next step, for options that are given elsewhere than to `Accelerator.create`.
 * @throws AccError `ACC_OPTIONS_DIFFER`, on every rank, with the option and each rank's value.
 */
export function requireSameOptions(
  where: string,
  own: Readonly<Record<string, unknown>>,
  collective: Pick<Collective, 'allGatherObject'> & Partial<Pick<Collective, 'worldRanks'>>,
  help = 'Create the Accelerator with the same options on every rank.',
): void {
  const all = collective.allGatherObject(own);
  const ofRanks = all.map((options, i) => ({ rank: collective.worldRanks?.[i] ?? i, options }));
  requireEqualOptions(where, ofRanks, help);
}

/** Options of a rank, which is its number in the job. They are JSON values. */
export interface OptionsOfRank {
  readonly rank: number;
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * As `requireSameOptions`, for options that ranks have exchanged already. An option that some ranks
 * leave out differs from any value.
 */
export function requireEqualOptions(where: string, ofRanks: readonly OptionsOfRank[], help: string): void {
  const names = new Set(ofRanks.flatMap(({ options }) => Object.keys(options)));
  const differing = [...names].filter((name) => {
    const sides = ofRanks.map(({ options }) => JSON.stringify(options[name]));
    return sides.some((side) => side !== sides[0]);
  });
  if (differing.length === 0) return;
  const lines = differing.map((name) => {
    const sides = ofRanks.map(({ rank, options }) => `    rank ${rank}: ${JSON.stringify(options[name])}`);
    return `  ${where}.${name}:\n${sides.join('\n')}`;
  });
  throw new AccError('ACC_OPTIONS_DIFFER', `Ranks have different options:\n${lines.join('\n')}`, {
    help,
    details: {
      options: differing.map((name) => `${where}.${name}`),
      ranks: ofRanks.map(({ options }) => options),
    },
  });
}
