import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as core from '@acc/core';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const [, section = ''] = /^## Not there yet\n(.*?)^(?=## |How fast)/ms.exec(readme) ?? [];

/** The error code in a row of the table. */
function named(row: string): string[] {
  const line = section.split('\n').find((text) => text.startsWith(`| ${row} `)) ?? expect.unreachable(row);
  return Array.from(line.slice(row.length + 4).matchAll(/`([^`]+)`/g), ([, code]) => code!);
}

it('the Accelerator lacks exactly what README.md says it lacks', () => {
  const names = named('Accelerator');
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => name in core.Accelerator.prototype || name in core)).toEqual([]);
});

it('options that README.md lists as missing are refused', async () => {
  expect(named('options')).toContain("mixedPrecision: 'fp8'");
  const options = named('options').filter((name) => /^[\w.]+$/.test(name));
  for (const option of options) {
    const [outer, inner] = option.split('.') as [string, string?];
    const given = { [outer]: inner ? { [inner]: 1 } : {} };
    await expect(core.Accelerator.create(given), option).rejects.toMatchObject({
      code: 'ACC_UNKNOWN_OPTION',
    });
  }
  await expect(core.Accelerator.create({ mixedPrecision: 'fp8' })).rejects.toMatchObject({
    code: expect.stringMatching(/^ACC_/) as unknown,
  });
});
