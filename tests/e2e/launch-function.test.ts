import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('ranks of a launched function reduce over all of them', async () => {
  const program = fileURLToPath(new URL('./ranks/launch-function.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toEqual([1.5, 1.5, 1.5]);
});
