import { describe, expect, it } from 'vitest';
import { checkKeys, nearestName } from './check-keys.js';
import { type AccError, isAccError } from '../errors/errors.js';

describe('checkKeys', () => {
  it('accepts known keys', () => {
    expect(() => checkKeys('options', { seed: 1 }, ['seed', 'strategy'])).not.toThrow();
  });

  it('refuses an unknown key and names the nearest known one', () => {
    try {
      checkKeys('AcceleratorOptions', { stratgy: 'ddp' }, ['seed', 'strategy']);
      expect.unreachable();
    } catch (error) {
      expect(isAccError(error, 'ACC_UNKNOWN_OPTION')).toBe(true);
      expect((error as AccError).details).toMatchObject({ key: 'stratgy', nearest: 'strategy' });
    }
  });

  it.each<[string, unknown]>([
    ['a number', 0.1],
    ['a text', 'x'],
    ['true', true],
    ['null', null],
    ['undefined', undefined],
    ['an array', []],
    ['a function', () => ({})],
    ['a promise', Promise.resolve({})],
    ['a map', new Map()],
  ])('refuses %s, which is not a record', (_, value) => {
    expect(() => checkKeys('adamw', value as object, ['learningRate', 'beta1'])).toThrowError(
      expect.objectContaining({
        code: 'ACC_INVALID_OPTION',
        message: expect.stringMatching(/^adamw: .*\n→ .*learningRate/) as unknown,
      }),
    );
  });

  it('accepts records without a prototype and class instances', () => {
    const own = new (class Options {
      seed = 1;
    })();
    for (const record of [Object.create(null) as object, own]) checkKeys('options', record, ['seed']);
    expect(() => checkKeys('options', own, [])).toThrow();
  });

  it('suggests the nearest key, the first of several, ignoring case', () => {
    expect(nearestName('Stratgy', ['seed', 'strategy', 'state'])).toBe('strategy');
    expect(nearestName('se', ['seed', 'send'])).toBe('seed');
  });

  it('suggests nothing if no key is near', () => {
    expect(nearestName('sequentail', ['Sequential', 'sequential'])).toBe('sequential');
    expect(nearestName('zzzzzz', ['seed', 'strategy'])).toBeUndefined();
  });
});
