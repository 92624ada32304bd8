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
  const refused = [first, ...others].map(({ of, reason }) => `${sentenceOf(of)} ${reason}`);
  throw new AccError(first.code, refused.join('\n'), {
    help: others.length > 0 ? 'Leave out one feature of each line.' : 'Leave one of them out.',
    details: { refused: [first, ...others].map(({ of }) => of.map((feature) => FEATURES[feature])) },
  });
}

function sentenceOf(features: readonly Feature[]): string {
  const [first, ...others] = features.map((feature) => FEATURES[feature]);
  return `${first} does not work with ${others.join(' and ')}.`;
}
