import { expect, it } from 'vitest';
import { oldNode } from './node-version.js';

it.each(['18.20.8', '20.18.3', '21.7.3', '22.1.0', '22.11.0'])('Node.js %s is too old', (version) =>
  expect(oldNode({ node: version })!.message).toContain(version),
);

it.each(['20.19.0', '20.20.2', '22.12.0', '23.0.0', '24.0.0', '26.10.0'])('Node.js %s works', (version) =>
  expect(oldNode({ node: version })).toBeUndefined(),
);

it.each([{ deno: '2.0.0' }, { bun: '1.1.0' }])('is no Node.js: %j', (other) =>
  expect(oldNode({ node: '18.20.8', ...other })).toBeUndefined(),
);
