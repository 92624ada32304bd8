import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { keepWholeErrors } from './error-folder.js';

it('an error is kept if the screen does not have the whole of it', () => {
  const rank = (text: string) => ({ rank: 0, pid: 1, error: { code: undefined, text, whole: text } });
  expect(keepWholeErrors([rank('Error: x')])).toBeUndefined();
  const long = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');
  const path = keepWholeErrors([rank(long)])!;
  expect(readFileSync(path, 'utf8')).toContain(long);
  rmSync(dirname(path), { recursive: true });
});
