import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LogFile } from './log-file.js';

const BLOCK = 32 * 1024;

it.each([
  ['in the first block', [10, 20]],
  ['where no header has room in the block', [BLOCK - 7 - 7 - 3, 20]],
  ['at the end of a block', [BLOCK - 7 - 7, 20]],
  ['over several blocks', [3 * BLOCK, 2 * BLOCK]],
])('only a log that was not closed is continued: %s', (_, sizes) => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [first, second] = sizes.map((size, i) => new Uint8Array(size).fill(i + 1)) as [
    Uint8Array,
    Uint8Array,
  ];
  const paths = ['whole', 'parts'].map((name) => join(folder, name)) as [string, string];
  const full = LogFile.create(paths[0]);
  full.add([first]);
  full.add([second]);
  full.close();
  const begun = LogFile.create(paths[1]);
  begun.add([first]);
  begun.close();
  appendFileSync(paths[1], 'half a record');
  const further = LogFile.goOn(paths[1], begun.bytes);
  further.add([second]);
  further.close();
  expect(readFileSync(paths[1]).equals(readFileSync(paths[0]))).toBe(true);
  expect(further.bytes).toBe(full.bytes);
});
