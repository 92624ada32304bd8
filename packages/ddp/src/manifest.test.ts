import { type AccError } from '@acc/contract';
import { describe, expect, it } from 'vitest';
import { requireSameManifests, type VariableDescription } from './manifest.js';

const variable = (name: string, shape = [2, 3], dtype = 'float32'): VariableDescription => ({
  name,
  shape,
  dtype,
});
const codeOf = (run: () => void): string => {
  try {
    run();
    return 'none';
  } catch (error) {
    return (error as AccError).code;
  }
};

describe('requireSameManifests', () => {
  it('accepts equal lists', () => {
    const list = [variable('a'), variable('b')];
    expect(codeOf(() => requireSameManifests([list, list, list]))).toBe('none');
  });

  it.each([
    ['name', [variable('x')]],
    ['shape', [variable('a', [3, 2])]],
    ['dtype', [variable('a', [2, 3], 'int32')]],
    ['length', [variable('a'), variable('b')]],
  ])('refuses a different %s', (_, other) => {
    expect(codeOf(() => requireSameManifests([[variable('a')], other]))).toBe('ACC_VARIABLES_DIFFER');
  });
});
