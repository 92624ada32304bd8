import { describe, expect, it } from 'vitest';
import { filesUnder, readText } from './reading/repository.js';
import { FORBIDDEN_IN_CORE, MAY_NAME_THEM } from './rules/core-words.js';

/**
 * The words of a text, also those inside names: `resolveDdpOptions` contains `ddp`. The name of an
 * environment variable is one word.
 */
function wordsOf(text: string): Set<string> {
  const apart = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2');
  return new Set(apart.toLowerCase().split(/[^a-z0-9_]+/));
}

const namesIn = (path: string) => FORBIDDEN_IN_CORE.filter((word) => wordsOf(readText(path)).has(word));

describe('core', () => {
  const files = filesUnder('packages/core/src', ['.ts']).filter((path) => !path.endsWith('.test.ts'));

  it('names no implementation outside of the presets and the options of users', () => {
    const named = files
      .filter((path) => !MAY_NAME_THEM.includes(path))
      .flatMap((path) => namesIn(path).map((word) => `${path}: ${word}`));
    expect(named).toEqual([]);
    expect(files.length).toBeGreaterThan(15);
  });

  it('names implementations there', () => {
    expect(MAY_NAME_THEM.map((path) => namesIn(path).length > 0)).toEqual(MAY_NAME_THEM.map(() => true));
  });
});
