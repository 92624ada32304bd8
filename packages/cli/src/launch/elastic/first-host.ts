import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import type { Endpoint } from '../options.js';

/**
 * Whether the endpoint is an address of this host, and the address to listen on. A host whose own
 * name is a loopback address listens on all of its addresses, because others could not reach that
 * one.
 */
export async function listenEndpoint({
  host,
}: Endpoint): Promise<{ readonly address: string | undefined } | undefined> {
  const found = await lookup(host, { all: true }).catch(() => []);
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  for (const { address } of found) {
    const isLoopback = /^127\.|^::1$/.test(address);
    if (isLoopback) return { address: host === 'localhost' || host === address ? address : undefined };
    if (own.some((one) => one.address === address.replace(/%.*/, ''))) return { address };
  }
  return undefined;
}
