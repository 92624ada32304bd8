// Mutations find what they are for.
import 'sharp';
import { afterAll, expect, it } from 'vitest';
import { Reader } from './reader.js';

const reader = new Reader({ ms: 3000, bytes: 256 * 2 ** 20 });
afterAll(() => reader[Symbol.asyncDispose]());

const run = (format: string) => reader.run({ format: `broken: ${format}`, seed: 1, mutations: [0, 1] });

it.each([
  ['a raw error', /^mutation 0: no AccError: TypeError/],
  ['no name', /^mutation 0: the file is not named: ACC_DATA_FORMAT/],
  ['a rejection', /^mutation 0: unhandled rejection: Error: left over/],
])('%s is reported', async (format, what) => {
  const { errors, failures } = await run(format);
  expect(errors).toBe(2);
  expect(failures).toEqual([expect.stringMatching(what), expect.anything()]);
});

it.each([
  ['a loop', /^Mutation 0 took longer than 3000 ms/],
  ['memory', /^Mutation 0 took \d+ MiB/],
])('%s ends the thread, and the next work has another one', async (format, what) => {
  await expect(run(format)).rejects.toThrow(what);
  expect((await run('no name')).errors).toBe(2);
});
