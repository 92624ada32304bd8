import { expect, it } from 'vitest';
import { matchesGlob } from './matches-glob.js';

it.each([
  ['h.0/attn/q_proj', 'h.*/attn/q_proj', true],
  ['h.0/attn/q_proj', 'h.0/*/q_proj', true],
  ['h.0/attn/q_proj', '*/q_proj', false],
  ['attn/q_proj', '*/q_proj', true],
  ['h.0/attn/q_proj', '**/q_proj', true],
  ['q_proj', '**/q_proj', true],
  ['my_q_proj', '**/q_proj', false],
  ['h.0/attn/q_proj', '**q_proj', true],
  ['h.0/attn/q_proj', 'h.**', true],
  ['h.0/attn/q_proj', 'h.*', false],
  ['dense_1', 'dense_*', true],
  ['denseX1', 'dense.1', false],
  ['a+b(c)', 'a+b(*)', true],
  ['dense', '', false],
])('%s by %s: %s', (name, glob, expected) => {
  expect(matchesGlob(name, glob)).toBe(expected);
});
