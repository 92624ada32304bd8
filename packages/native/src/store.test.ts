import { expect, it } from 'vitest';
import { freePort } from '@acc/testkit';
import { Store } from './store.js';

it('connections that send as much as ranks do are no strangers to the store', async () => {
  const port = await freePort();
  const worldSize = 4;
  const options = { host: '127.0.0.1', port, worldSize, timeoutMs: 240_000 };
  const first = await Store.connect({ ...options, isServer: true });
  const stores = [first];
  // A rank has two.
  while (stores.length < 2 * worldSize) stores.push(await Store.connect({ ...options, isServer: false }));
  const value = 'x'.repeat(50_000);
  for (const [rank, store] of stores.entries()) store.agree(`key ${rank}`, value);
  const last = stores.at(-1)!;
  for (const rank of stores.keys()) expect(last.find(`key ${rank}`)).toBe(value);
  expect(first.closeDoor()).toEqual({ ended: 0, isFull: false });
  for (const store of stores.reverse()) store.close();
});
