import { AccError } from '@acc/contract';
import { FEATURES, REFUSALS, type Feature, type Refusal } from './composes.js';

/** The features among these that do not go together. */
export function refusalsOf(features: ReadonlySet<Feature>): Refusal[] {
  return REFUSALS.filter(({ of }) => of.every((feature) => features.has(feature)));
}

/**
 * Requires that all features of a run go together.
 *
 * @param more The one that a program asks for during the run. Then only its refusals count.
 * @throws AccError with the code of the first refusal.
 */
export function requireTogether(features: Iterable<Feature>, more?: Feature): void {
  const all = new Set(features);
  if (more) all.add(more);
  const [first, ...others] = refusalsOf(all).filter(({ of }) => !more || of.includes(more));
  if (!first) return;
  const refused = [first, ...others].map(
    ({ of, reason }) => `${namesOf(of)} do not work together. ${reason}`,
  );
  throw new AccError(first.code, refused.join('\n'), {
    help: 'Leave one of them out.',
    details: { refused: [first, ...others].map(({ of }) => of.map((feature) => FEATURES[feature])) },
  });
}

/** The names of features, as part of a sentence. */
export function namesOf(features: readonly Feature[]): string {
  const names = features.map((feature) => FEATURES[feature]);
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
