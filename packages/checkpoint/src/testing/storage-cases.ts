import { expect } from 'vitest';
import type { Storage } from '../storage/storage.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (given: Uint8Array): string => new TextDecoder().decode(given);
const error = (code: string): Error => expect.objectContaining({ code }) as Error;

async function* inPieces(count: number, size: number): AsyncGenerator<Uint8Array> {
  const reused = new Uint8Array(size);
  for (let i = 0; i < count; i++) {
    await Promise.resolve();
    yield reused.fill(i + 1);
  }
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield bytes('half');
  await Promise.resolve();
  throw new Error('no more');
}

const sorted = async (storage: Storage, prefix: string) =>
  (await storage.list(prefix)).sort((a, b) => (a.key < b.key ? -1 : 1));

/** What every storage does. Each case gets one that is empty. */
export const storageCases: readonly { name: string; run(storage: Storage): Promise<void> }[] = [
  {
    name: 'keeps what is put, and replaces it',
    async run(storage) {
      await storage.put('a/b.json', bytes('one'));
      await storage.put('a/b.json', bytes('another'));
      expect(text(await storage.get('a/b.json'))).toBe('another');
    },
  },
  {
    name: 'keeps what comes in pieces, whose memory is used again',
    async run(storage) {
      await storage.put('pieces', inPieces(5, 1000));
      const all = await storage.get('pieces');
      expect(all).toHaveLength(5000);
      expect([0, 999, 1000, 4999].map((i) => all[i])).toEqual([1, 1, 2, 5]);
    },
  },
  {
    name: 'keeps what is empty',
    async run(storage) {
      await storage.put('empty', new Uint8Array(0));
      expect(await storage.get('empty')).toHaveLength(0);
      expect(await storage.list('')).toEqual([{ key: 'empty', bytes: 0 }]);
    },
  },
  {
    name: 'gives a part, into memory that is there',
    async run(storage) {
      await storage.put('x', bytes('0123456789'));
      const into = new Uint8Array(4);
      expect(await storage.get('x', { start: 3, into })).toBe(into);
      expect(text(into)).toBe('3456');
      expect(text(await storage.get('x', { start: 7 }))).toBe('789');
      expect(await storage.get('x', { into: new Uint8Array(0) })).toHaveLength(0);
    },
  },
  {
    name: 'has a code for what is not there, and for what ends too early',
    async run(storage) {
      await storage.put('x', bytes('01'));
      await expect(storage.get('y')).rejects.toThrowError(error('ACC_STORAGE_NOT_FOUND'));
      await expect(storage.get('x/y')).rejects.toThrowError(error('ACC_STORAGE_NOT_FOUND'));
      const into = new Uint8Array(4);
      await expect(storage.get('x', { into })).rejects.toThrowError(error('ACC_STORAGE_NOT_FOUND'));
      await expect(storage.get('x', { start: 9, into })).rejects.toThrowError(error('ACC_STORAGE_NOT_FOUND'));
    },
  },
  {
    name: 'lists what is below a prefix',
    async run(storage) {
      for (const key of ['a/1', 'a/b/2', 'ab', 'c/3']) await storage.put(key, bytes(key));
      expect(await sorted(storage, 'a/')).toEqual([
        { key: 'a/1', bytes: 3 },
        { key: 'a/b/2', bytes: 5 },
      ]);
      expect((await storage.list('')).map(({ key }) => key).sort()).toEqual(['a/1', 'a/b/2', 'ab', 'c/3']);
      expect(await storage.list('none/')).toEqual([]);
    },
  },
  {
    name: 'deletes, also what is not there',
    async run(storage) {
      for (const key of ['a/1', 'a/2', 'b']) await storage.put(key, bytes(key));
      await storage.delete(['a/1', 'a/none', 'none/1', 'b']);
      expect(await storage.list('')).toEqual([{ key: 'a/2', bytes: 3 }]);
      await storage.delete([]);
    },
  },
  {
    name: 'keeps what was there when a put fails',
    async run(storage) {
      await storage.put('x', bytes('old'));
      await expect(storage.put('x', failing())).rejects.toThrowError('no more');
      await expect(storage.put('new', failing())).rejects.toThrowError('no more');
      expect(text(await storage.get('x'))).toBe('old');
      expect(await storage.list('')).toEqual([{ key: 'x', bytes: 3 }]);
    },
  },
];
