import { isDefault, leftOut, type Rule } from './outcome.js';

/** Features that do not exist, in the words of the list "Not there yet" in README.md. */
export const MISSING = ['offload of activations', 'pruning', 'layer drop'] as const;

/** The note about a feature that does not exist. Other notes do not say that something is missing. */
export function missing(feature: (typeof MISSING)[number], advice?: string): string {
  return `not there yet: ${feature}${advice === undefined ? '' : `. ${advice}`}`;
}

/** For keys of a feature that does not exist: false is what happens here. */
export const withMissing =
  (feature: (typeof MISSING)[number], advice?: string): Rule =>
  (value) =>
    value === false ? isDefault() : leftOut(missing(feature, advice));
