import { constants } from 'node:fs';
import * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { writeSynced } from './block-file.js';

type Write = (...args: unknown[]) => Promise<unknown>;

// Imitates a file system that refuses direct writes, because a test machine may not have one. It
// refuses the first direct write at once, and those that began beside it after the first plain
// write.
const direct = vi.hoisted(() => ({ refused: 0 }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<typeof files>();
  let writtenOtherwise = () => {};
  const otherwise = new Promise<void>((resolve) => (writtenOtherwise = resolve));
  const refuse = async () => {
    if (direct.refused++ > 0) await otherwise;
    throw Object.assign(new Error('EINVAL: invalid argument, write'), { code: 'EINVAL' });
  };
  return {
    ...real,
    async open(path: string, flags: number | string) {
      const isDirect = typeof flags === 'number' && (flags & constants.O_DIRECT) !== 0;
      const file = await real.open(path, isDirect ? flags & ~constants.O_DIRECT : flags);
      const write = file.write.bind(file) as Write;
      const plain: Write = (...args) => write(...args).finally(writtenOtherwise);
      return Object.assign(file, { write: isDirect ? refuse : plain });
    },
  };
});

it('writes the whole file even if direct writes are refused one after another', async () => {
  const folder = await files.mkdtemp(join(tmpdir(), 'acc-refused-'));
  onTestFinished(() => files.rm(folder, { recursive: true }));
  const content = new Uint8Array(20 * 1024 * 1024).map((_, i) => i % 251);
  async function* items() {
    await Promise.resolve();
    yield content;
  }
  await writeSynced(join(folder, 'file'), items());
  expect(direct.refused).toBe(3);
  expect((await files.readFile(join(folder, 'file'))).equals(content)).toBe(true);
});
