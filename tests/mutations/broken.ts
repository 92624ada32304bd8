import { setTimeout as sleep } from 'node:timers/promises';
import { AccError } from '@acc/contract';
import type { Format } from './formats.js';

/** Readers with the faults that mutations find. The whole file is valid, and each damaged one is not. */
const VALID = Buffer.from('valid '.repeat(100));

function broken(name: string, fail: (path: string) => unknown): Format {
  return {
    name: `broken: ${name}`,
    seeds: () => Promise.resolve([{ files: { a: VALID }, damaged: 'a' }]),
    async read(folder) {
      const { readFile } = await import('node:fs/promises');
      const path = `${folder}/a`;
      if (!(await readFile(path)).equals(VALID)) await fail(path);
    },
  };
}

const taken: Buffer[] = [];

export const BROKEN: readonly Format[] = [
  broken('a raw error', (path) => {
    throw new TypeError(`${path}: undefined is no function`);
  }),
  broken('no name', () => {
    throw new AccError('ACC_DATA_FORMAT', 'It is damaged.');
  }),
  broken('a rejection', async (path) => {
    void Promise.reject(new Error('left over'));
    await sleep(1);
    throw new AccError('ACC_DATA_FORMAT', `${path} is damaged.`);
  }),
  broken('a loop', () => {
    for (;;);
  }),
  broken('memory', async () => {
    for (let pieces = 0; pieces < 64; pieces++) {
      taken.push(Buffer.alloc(8 * 2 ** 20, 1));
      await sleep(1);
    }
    await sleep(60_000);
  }),
];
