import { afterEach, expect, it, vi } from 'vitest';
import { MemoryFile } from './memory-file.js';
import { WriteBehind } from './write-behind.js';

/** The message of the error that the page's storage throws. Undefined: it stores. */
let refusal: string | undefined;

const stream = {
  write: async () => {
    if (refusal) throw new DOMException(refusal, 'QuotaExceededError');
  },
  close: async () => {},
  abort: async () => {},
};
const root = { getFileHandle: async () => ({ createWritable: async () => stream }) };

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it('a page warns when storing fails, once as long as the reason is the same', async () => {
  vi.stubGlobal('navigator', { storage: { getDirectory: async () => root } });
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const files = new WriteBehind(new Map([['/log.jsonl', MemoryFile.of(new Uint8Array(3))]]));
  const warnings = () => warned.mock.calls.map(([message]) => String(message));
  const full =
    'acc: Writing /log.jsonl into the files of this page failed: The disk is full\n→ Delete files of this page, or allow it more storage.';

  refusal = 'The disk is full';
  files.note('/log.jsonl');
  await expect(files.settle()).rejects.toMatchObject({ code: 'ACC_STORAGE_FULL' });
  expect(warnings()).toEqual([full]);
  await expect(files.settle()).rejects.toMatchObject({ code: 'ACC_STORAGE_FULL' });
  expect(warnings()).toEqual([full]);
  refusal = 'The quota was lowered';
  await expect(files.settle()).rejects.toMatchObject({ code: 'ACC_STORAGE_FULL' });
  expect(warnings()).toEqual([full, full.replace('The disk is full', refusal)]);

  refusal = undefined;
  await files.settle();
  expect(warnings()).toHaveLength(2);
});
