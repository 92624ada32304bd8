import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chooseEndpoint } from './endpoint.js';

let server: Server;
let taken: number;
beforeAll(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  taken = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

describe('chooseEndpoint', () => {
  it('uses a free port of the loopback interface on one host', async () => {
    const { host, port } = await chooseEndpoint({ endpoint: undefined, nodeRank: 0 });
    expect(host).toBe('127.0.0.1');
    expect(port).toBeGreaterThan(1023);
    expect(await chooseEndpoint({ endpoint: { host: 'h', port }, nodeRank: 0 })).toEqual({ host: 'h', port });
  });

  it('refuses a taken port on the host of rank 0, and only there', async () => {
    const endpoint = { host: '127.0.0.1', port: taken };
    await expect(chooseEndpoint({ endpoint, nodeRank: 0 })).rejects.toMatchObject({
      code: 'ACC_PORT_TAKEN',
      details: { port: taken },
    });
    expect(await chooseEndpoint({ endpoint, nodeRank: 1 })).toEqual(endpoint);
  });
});
