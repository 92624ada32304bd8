import { expect, it } from 'vitest';
import { textOfLines } from './line-ranges.js';
import type { SourceLine } from './source-places.js';

const lines = (file: string, isGradient: boolean, ...numbers: number[]): SourceLine[] =>
  numbers.map((line) => ({ file, line, isGradient }));

it('joins neighbouring lines, each file once, with gradients last', () => {
  const given = [
    ...lines('a.ts', true, 9),
    ...lines('a.ts', false, 4, 3, 7, 3, 5),
    ...lines('b.ts', false, 1, 2),
  ];
  expect(textOfLines(given)).toBe('a.ts:3–5, 7; b.ts:1–2; gradient of a.ts:9');
});

it('names at most eight files', () => {
  const given = Array.from({ length: 11 }, (_, i) => lines(`${i}.ts`, false, i)).flat();
  expect(textOfLines(given)).toMatch(/; 7\.ts:7; and 3 more files$/);
});

it('is undefined without lines', () => {
  expect(textOfLines([])).toBeUndefined();
});
