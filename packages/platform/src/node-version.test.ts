import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isInRange } from '../../../scripts/node-range.mjs';
import { oldNode } from './node-version.js';

const manifest = new URL('../package.json', import.meta.url);
const { engines } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly engines: { readonly node: string } };

it.each(['18.20.8', '20.18.3', '21.7.3', '22.1.0', '22.11.0'])('Node.js %s is too old', (version) => {
  expect(oldNode({ node: version })!.message).toContain(version);
  expect(isInRange(version, engines.node)).toBe(false);
});

it.each(['20.19.0', '20.20.2', '22.12.0', '23.0.0', '24.0.0', '26.10.0'])('Node.js %s works', (version) => {
  expect(oldNode({ node: version })).toBeUndefined();
  expect(isInRange(version, engines.node)).toBe(true);
});

it.each([{ deno: '2.0.0' }, { bun: '1.1.0' }])('is no Node.js: %j', (other) =>
  expect(oldNode({ node: '18.20.8', ...other })).toBeUndefined(),
);
