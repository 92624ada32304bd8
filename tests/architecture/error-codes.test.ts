import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import {
  codesInSources,
  errorEntries,
  literalsInSources,
  VARIABLES,
} from '../../site/scripts/error-codes.mjs';
import { filesUnder, isForTests, packages, readText, sourcesOf } from './reading/repository.js';
import { nodesOf, parse } from './reading/syntax.js';
import { RELAYS_NEXT_STEP } from './rules/exceptions.js';

const codes = [...codesInSources().keys()];
const entries = errorEntries();

describe('error codes', () => {
  it('have an entry each in site/docs/errors, and every entry has a code', () => {
    expect(entries.map(({ code }) => code).sort()).toEqual([...codes].sort());
    expect(codes.length).toBeGreaterThan(220);
  });

  it('have entries that say more than the code', () => {
    const sentences = (text: string) =>
      text.split(/[.:](?=\s|$)/).filter((part) => part.trim() !== '').length;
    expect(entries.filter(({ text }) => text.length < 80 || sentences(text) < 2)).toEqual([]);
  });

  it('have a next step wherever they are thrown', () => {
    const errors = packages
      .flatMap(sourcesOf)
      .filter((path) => !isForTests(path))
      .flatMap((path) =>
        nodesOf(parse(path))
          .filter(ts.isNewExpression)
          .map((node) => ({ path, node })),
      )
      .filter(({ node }) => node.expression.getText() === 'AccError');
    const without = errors.filter(({ node }) => !/\bhelp\b/.test(node.arguments?.[2]?.getText() ?? ''));
    const places = new Set(without.map(({ path }) => path));
    expect([...places].sort()).toEqual(RELAYS_NEXT_STEP.map(({ where }) => where).sort());
    expect(errors.length).toBeGreaterThan(600);
  });

  it('are found by their form: what has it and is no code is a variable', () => {
    const literals = literalsInSources();
    expect(VARIABLES.filter((name) => !literals.has(name))).toEqual([]);
    const thrown = new Set(
      filesUnder('packages', ['.ts']).flatMap((path) =>
        Array.from(readText(path).matchAll(/new AccError\(\s*'(ACC_\w+)'/g), ([, code]) => code!),
      ),
    );
    expect(VARIABLES.filter((name) => thrown.has(name))).toEqual([]);
    expect(thrown.size).toBeGreaterThan(150);
  });
});
