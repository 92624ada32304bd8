import { isAccError, type Storage } from '@acc/contract';
import { deepEqual, equal, rejects } from './assertions.js';

/** A rule for every storage of checkpoints. */
export interface StorageCase {
  readonly name: string;
  /** @param storage An empty storage for this case only. Rejects if the rule is broken. */
  run(storage: Storage): Promise<void>;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (given: Uint8Array): string => new TextDecoder().decode(given);

const refused = (work: Promise<unknown>, code: string): Promise<void> =>
  rejects(work, (error) => isAccError(error, code) || Promise.reject(error as Error));

/** Arrays whose memory is reused. */
async function* pieces(count: number, size: number): AsyncGenerator<Uint8Array> {
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
  [...(await storage.list(prefix))].sort((a, b) => (a.key < b.key ? -1 : 1));

const put: readonly StorageCase[] = [
  {
    name: 'stores and replaces content',
    async run(storage) {
      await storage.put('a/b.json', bytes('one'));
      await storage.put('a/b.json', bytes('another'));
      equal(text(await storage.get('a/b.json')), 'another');
    },
  },
  {
    name: 'stores content that comes in pieces which reuse their memory',
    async run(storage) {
      await storage.put('pieces', pieces(5, 1000));
      const all = await storage.get('pieces');
      equal(all.length, 5000);
      deepEqual(
        [0, 999, 1000, 4999].map((i) => all[i]),
        [1, 1, 2, 5],
      );
    },
  },
  {
    name: 'stores empty content',
    async run(storage) {
      await storage.put('empty', new Uint8Array(0));
      equal((await storage.get('empty')).length, 0);
      deepEqual(await storage.list(''), [{ key: 'empty', bytes: 0 }]);
    },
  },
  {
    name: 'keeps the old content if a put fails',
    async run(storage) {
      await storage.put('x', bytes('old'));
      await rejects(storage.put('x', failing()), /no more/);
      await rejects(storage.put('new', failing()), /no more/);
      equal(text(await storage.get('x')), 'old');
      deepEqual(await storage.list(''), [{ key: 'x', bytes: 3 }]);
    },
  },
];

const get: readonly StorageCase[] = [
  {
    name: 'reads a range into given memory',
    async run(storage) {
      await storage.put('x', bytes('0123456789'));
      const into = new Uint8Array(4);
      equal(await storage.get('x', { start: 3, into }), into);
      equal(text(into), '3456');
      equal(text(await storage.get('x', { start: 7 })), '789');
      equal((await storage.get('x', { into: new Uint8Array(0) })).length, 0);
    },
  },
  {
    name: 'has an error code for missing keys and for ranges beyond the end',
    async run(storage) {
      await storage.put('x', bytes('01'));
      const into = new Uint8Array(4);
      await refused(storage.get('y'), 'ACC_STORAGE_NOT_FOUND');
      await refused(storage.get('x/y'), 'ACC_STORAGE_NOT_FOUND');
      await refused(storage.get('x', { into }), 'ACC_STORAGE_NOT_FOUND');
      await refused(storage.get('x', { start: 9, into }), 'ACC_STORAGE_NOT_FOUND');
    },
  },
];

const listed: readonly StorageCase[] = [
  {
    name: 'lists the keys with a prefix',
    async run(storage) {
      for (const key of ['a/1', 'a/b/2', 'ab', 'c/3']) await storage.put(key, bytes(key));
      deepEqual(await sorted(storage, 'a/'), [
        { key: 'a/1', bytes: 3 },
        { key: 'a/b/2', bytes: 5 },
      ]);
      deepEqual(
        (await sorted(storage, '')).map(({ key }) => key),
        ['a/1', 'a/b/2', 'ab', 'c/3'],
      );
      deepEqual(await storage.list('none/'), []);
    },
  },
  {
    name: 'accepts many kinds of names',
    async run(storage) {
      const keys = ['a&b.json', "it's (1)~!*.bin", 'ä/ö ü+%20', 'x'.repeat(120)];
      for (const key of keys) await storage.put(key, bytes(key));
      deepEqual((await storage.list('')).map(({ key }) => key).sort(), [...keys].sort());
      for (const key of keys) equal(text(await storage.get(key)), key);
      await storage.delete(keys);
      deepEqual(await storage.list(''), []);
    },
  },
  {
    name: 'deletes keys, also missing ones',
    async run(storage) {
      for (const key of ['a/1', 'a/2', 'b']) await storage.put(key, bytes(key));
      await storage.delete(['a/1', 'a/none', 'none/1', 'b']);
      deepEqual(await storage.list(''), [{ key: 'a/2', bytes: 3 }]);
      await storage.delete([]);
    },
  },
];

/** The cases that a storage for checkpoints must pass. */
export const storageCases: readonly StorageCase[] = [...put, ...get, ...listed];
