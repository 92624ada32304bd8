import type { NameFilter } from '@acc/kernels/optimizer-steps';
import type { OptionKind } from './options.js';

export const NAME_FILTER: OptionKind = {
  expected: 'a list of regular expressions (strings), or a function of a name',
  accepts: (value) => typeof value === 'function' || (Array.isArray(value) && value.every(isExpression)),
};

function isExpression(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    return new RegExp(value) instanceof RegExp;
  } catch {
    return false;
  }
}

/**
 * Returns a function that tells whether a name passes the filter. Results are cached, because every
 * step asks for them.
 */
export function nameTest(filter: NameFilter): (name: string) => boolean {
  const answers = new Map<string, boolean>();
  const test = testOf(filter);
  return (name) => {
    let answer = answers.get(name);
    if (answer === undefined) {
      answer = test(name);
      answers.set(name, answer);
    }
    return answer;
  };
}

function testOf(filter: NameFilter): (name: string) => boolean {
  if (typeof filter === 'function') return filter;
  const expressions = filter.map((source) => new RegExp(source));
  return (name) => expressions.some((expression) => expression.test(name));
}
