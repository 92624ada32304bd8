import type { Collective } from './collective.js';
import { AccError } from './errors.js';

/**
 * Refuses options in which ranks differ, before a difference lets them wait for each other or compute different things.
 * Every rank calls it alike.
 *
 * @param where What the options are, as the user wrote it: `ddp`.
 * @param own What ranks must have alike: values that JSON can hold.
 * @throws AccError `ACC_OPTIONS_DIFFER`, on every rank, with the option and each rank's value.
 */
export function requireSameOptions(
  where: string,
  own: Readonly<Record<string, unknown>>,
  collective: Pick<Collective, 'allGatherObject'>,
): void {
  const ranks = collective.allGatherObject(own);
  const names = Object.keys(own);
  const differing = names.filter((name) => {
    const sides = ranks.map((options) => JSON.stringify(options[name]));
    return sides.some((side) => side !== sides[0]);
  });
  if (differing.length === 0) return;
  const lines = differing.map((name) => {
    const sides = ranks.map((options, rank) => `    rank ${rank}: ${JSON.stringify(options[name])}`);
    return `  ${where}.${name}:\n${sides.join('\n')}`;
  });
  throw new AccError('ACC_OPTIONS_DIFFER', `Ranks have different options:\n${lines.join('\n')}`, {
    help: 'Create the Accelerator with the same options on every rank.',
    details: { options: differing.map((name) => `${where}.${name}`), ranks },
  });
}
