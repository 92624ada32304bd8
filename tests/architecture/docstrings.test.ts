import { describe, expect, it } from 'vitest';
import { filesUnder, readText } from './reading/repository.js';

/** The first words of docstrings that have no noun for their subject. */
const WORDS = ['What', 'Those', 'They', 'Others', 'Whoever', 'Which', 'Whose'];
/** A docstring up to its first word. It begins a line: texts in code do not count. */
const BEGIN = /^[ \t]*\/\*\*(?!\*)[\s*]*(?<word>\w+)/gm;

const FOLDERS = ['packages', 'bench', 'examples', 'scripts', 'site', 'tests'];
const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs', '.h', '.cpp', '.cu'];

/** The first word of each docstring of a text, with its line. */
function beginningsIn(text: string): { word: string; line: number }[] {
  return Array.from(text.matchAll(BEGIN), (match) => {
    const upToWord = text.slice(0, match.index + match[0].length);
    return { word: match.groups!['word']!, line: upToWord.split('\n').length };
  });
}

/** A message for each docstring of a text that begins with one of these words. */
function refusedIn(path: string, text: string): string[] {
  return beginningsIn(text)
    .filter(({ word }) => WORDS.includes(word))
    .map(
      ({ word, line }) =>
        `${path}:${line}: the docstring begins with '${word}'. Name the thing or begin with a verb: ` +
        "'The result of a search.' in place of 'What a search found.'",
    );
}

describe('docstrings', () => {
  it('begin with a noun or a verb', () => {
    const texts = ['eslint.config.js', ...FOLDERS.flatMap((folder) => filesUnder(folder, EXTENSIONS))]
      .filter((path) => !path.includes('/third_party/'))
      .map((path) => ({ path, text: readText(path) }));
    expect(texts.flatMap(({ path, text }) => refusedIn(path, text))).toEqual([]);
    expect(texts.flatMap(({ text }) => beginningsIn(text)).length).toBeGreaterThan(8000);
  });

  it('are judged by their first word alone', () => {
    const lines = [
      '/** What a search found. */',
      'export interface Found {',
      '  /**',
      '   * Those that differ.',
      '   */',
      '  readonly differing: number;',
      '  /**',
      '   * The tensors of the step.',
      '   * They are float32.',
      '   */',
      '  readonly tensors: number;',
      '  /** Whatever remains. */',
      "  readonly text: '/** Which is no comment. */';",
      '}',
    ];
    const refused = refusedIn('found.ts', lines.join('\n'));
    expect(refused.map((message) => message.split(': the')[0])).toEqual(['found.ts:1', 'found.ts:4']);
  });
});
