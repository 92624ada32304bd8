import { expect, it } from 'vitest';
import { jsonMistake } from './json-mistake.js';

const mistakeIn = (text: string) => {
  try {
    JSON.parse(text);
  } catch (error) {
    return jsonMistake(text, error);
  }
  return expect.unreachable();
};

it.each([
  ['{\n  "a": 1,\n}', 'line 3, column 1:\n    }\n    ^', 'Remove the comma before }'],
  [
    '{"b": "]]",\n "a": [1, 2, ]}',
    'line 2, column 14:\n     "a": [1, 2, ]}\n                 ^',
    'Remove the comma',
  ],
  ["{'a': 1}", 'line 1, column 2:', 'double quotes'],
  ['{"a": 1, // one\n"b": 2}', 'line 1, column 10:', 'no comments'],
  ['{"a": -Infinity}', 'line 1, column 8:', 'no Infinity'],
  ['{"a": tru}', 'line 1, column 10:', 'Correct it there.'],
  ['{"a": 1} x', 'line 1, column 10:', 'Correct it there.'],
  ['{"a": [1,\n', 'line 1, column 10:\n    {"a": [1,\n             ^', 'truncated'],
  ['', 'line 1, column 1:', 'truncated'],
  ['\ufeff{}', 'line 1, column 1:', 'byte order mark'],
  ['nothing', 'line 1, column 2:', 'Correct it there.'],
  [`[${'"N, NaN", '.repeat(6)}NaN]`, 'line 1, column 62:', 'no NaN'],
  // Each of these N may be the mistake: to try them all takes minutes.
  [`[${'"N",\n'.repeat(100_000)}NaN]`, 'line 100001, column 1:\n    NaN]\n    ^', 'no NaN'],
  [`{"a": "${'x'.repeat(500)}", b}`, 'line 1, column 511:', 'Correct it there.'],
])('%j has its place and a next step', (text, place, help) => {
  const mistake = mistakeIn(text);
  expect(mistake.problem).toContain(` at ${place}`);
  expect(mistake.help).toContain(help);
  for (const line of mistake.problem.split('\n')) expect(line.length).toBeLessThan(100);
});

it('an error of another kind is passed on', () =>
  expect(jsonMistake('{}', new RangeError('too deep'))).toEqual({
    problem: 'too deep',
    help: 'Correct it.',
  }));
