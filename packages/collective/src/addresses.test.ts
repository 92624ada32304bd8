import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { findAddresses } from './addresses.js';

const job = { size: 2, jobToken: 'token', isOneHost: true };
const outer = Object.values(networkInterfaces())
  .flatMap((local) => local ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

describe('ranks that should be on one host', () => {
  it('meet on its loopback interface', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: masterPort } = server.address() as AddressInfo;
    const loopback = { store: '127.0.0.1', own: '127.0.0.1' };
    const there = { ...job, masterAddress: '127.0.0.1', masterPort };
    expect(await findAddresses({ ...there, rank: 0 }, 1_000)).toEqual(loopback);
    expect(await findAddresses({ ...there, rank: 1 }, 1_000)).toEqual(loopback);
    server.close();
  });

  it('meet at the address of the host if MASTER_ADDR names it, so that other hosts can join', async () => {
    if (!outer) throw new Error('this test needs a network interface');
    const there = { ...job, rank: 0, masterAddress: outer, masterPort: 29500 };
    expect(await findAddresses(there, 1_000)).toEqual({ store: outer, own: outer });
  });

  it('get an error that names the host that they looked for', async () => {
    const there = { ...job, rank: 1, masterAddress: 'no-such-host.invalid', masterPort: 29655 };
    await expect(findAddresses(there, 200)).rejects.toMatchObject({
      code: 'ACC_RENDEZVOUS_FAILED',
      message: expect.stringContaining('no-such-host.invalid:29655') as unknown,
    });
  });
});
