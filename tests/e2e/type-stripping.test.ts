import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** False on a Node.js that does not run TypeScript by itself. */
const features = process.features as { readonly typescript?: string | false };

it('a TypeScript program trains without a loader on a Node.js that strips types', () => {
  const program = fileURLToPath(new URL('./ranks/type-stripping.mts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  if (!features.typescript) {
    expect([status, stderr]).toEqual([1, expect.stringContaining('ERR_UNKNOWN_FILE_EXTENSION')]);
    return;
  }
  expect(status, stderr).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ backend: 'acc', weights: [0.75, 0.5] });
});
