import { createRequire } from 'node:module';
import { afterEach, expect, it } from 'vitest';
import { mendTfjsNode } from './tfjs-node.js';

// As tfjs-node gets it. An ES module would see a copy of its names.
const util = createRequire(import.meta.url)('util') as Record<string, unknown>;
const { isNullOrUndefined, isArray } = util;
afterEach(() => void Object.assign(util, { isNullOrUndefined, isArray }));

it('adds the functions that newer versions of Node.js do not have', () => {
  delete util['isNullOrUndefined'];
  delete util['isArray'];
  mendTfjsNode();
  const isMissing = util['isNullOrUndefined'] as (value: unknown) => boolean;
  expect([undefined, null, 0, '', false].map((value) => isMissing(value))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(util['isArray']).toBe(Array.isArray);
});

it('changes nothing where they exist', () => {
  const own = () => true;
  Object.assign(util, { isNullOrUndefined: own, isArray: own });
  mendTfjsNode();
  expect([util['isNullOrUndefined'], util['isArray']]).toEqual([own, own]);
});
