import { expect, it } from 'vitest';
import { isPlainRecord, isRecord } from './records.js';

it.each<[string, unknown, boolean, boolean]>([
  ['a literal', { a: 1 }, true, true],
  ['a record without a prototype', Object.create(null), true, true],
  ['an object of a class', new (class Options {})(), true, false],
  ['an array', [], false, false],
  ['a map', new Map(), false, false],
  ['a typed array', new Uint8Array(), false, false],
  ['a function', () => ({}), false, false],
  ['null', null, false, false],
  ['a text', 'a', false, false],
])('%s', (_, value, hasNames, isPlain) => {
  expect([isRecord(value), isPlainRecord(value)]).toEqual([hasNames, isPlain]);
});
