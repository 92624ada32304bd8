import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as core from '@acc/core';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const section = readme.split(/^## /m).find((part) => part.startsWith('Not there yet')) ?? '';

/** The code in an item of the list. */
function named(item: string): string[] {
  const line = section.split('\n').find((text) => text.startsWith(`- ${item}: `)) ?? expect.unreachable(item);
  return Array.from(line.matchAll(/`([^`]+)`/g), ([, code]) => code!);
}

it('the Accelerator lacks exactly what README.md says it lacks', () => {
  const names = named('Accelerator');
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => name in core.Accelerator.prototype || name in core)).toEqual([]);
});
