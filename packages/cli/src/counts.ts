import { InvalidArgumentError } from 'commander';

/** A whole number above 0; exponents are allowed: 110e6. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d/.test(text) && Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError('Expected a whole number above 0, such as 12 or 110e6.');
}
