import { type AccError } from '@acc/contract';
import { describe, expect, it } from 'vitest';
import { requireSameLists } from './same-lists.js';

const SUBJECT = {
  code: 'ACC_VARIABLES_DIFFER',
  message: 'Ranks prepared different variables',
  help: 'Prepare the same.',
  entry: 'variable',
};

function errorOf(...lists: string[][]): AccError | undefined {
  try {
    requireSameLists(lists, SUBJECT);
    return undefined;
  } catch (error) {
    return error as AccError;
  }
}

describe('requireSameLists', () => {
  it('accepts equal lists', () => {
    expect(errorOf(['a', 'b'], ['a', 'b'], ['a', 'b'])).toBeUndefined();
    expect(errorOf([], [])).toBeUndefined();
  });

  it('shows what each rank has where they differ', () => {
    const error = errorOf(['a', 'b'], ['a', 'x'], ['a'])!;
    expect(error.code).toBe('ACC_VARIABLES_DIFFER');
    expect(error.message).toContain('variable 1:\n    rank 0: b\n    rank 1: x\n    rank 2: (none)');
    expect(error.message).not.toContain('variable 0');
    expect(error.details).toEqual({ lists: [['a', 'b'], ['a', 'x'], ['a']] });
  });

  it('shows the first five differences and counts the others', () => {
    const { message } = errorOf([...'abcdefg'], [])!;
    expect(message).toContain('variable 4:');
    expect(message).not.toContain('variable 5:');
    expect(message).toContain('… and 2 more');
  });
});
