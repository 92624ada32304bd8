import { AccError } from '@acc/contract';
import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { awaitListener } from './await-listener.js';
import type { JoinOptions } from './options.js';

/** The addresses that a rank uses, as numeric IP addresses. */
export interface Addresses {
  /** The address of the rendezvous store. */
  readonly store: string;
  /** The address by which peers reach this rank. */
  readonly own: string;
}

/**
 * Finds the addresses that this rank uses. The loopback address is used only if rank 0 is on the
 * loopback interface itself. Otherwise, ranks on other hosts could not connect. Ranks other than 0
 * wait here until the store listens.
 *
 * @throws AccError `ACC_RENDEZVOUS_FAILED`, `ACC_RENDEZVOUS_ADDRESS`, `ACC_INTERFACE_UNKNOWN`.
 */
export async function findAddresses(options: JoinOptions, timeoutMs: number): Promise<Addresses> {
  const { rank, masterAddress, masterPort, networkInterface } = options;
  const isOneHost = options.isOneHost && isLoopback(masterAddress);
  // Reports an unknown interface before waiting for any other rank.
  if (networkInterface && !isOneHost) addressesOf(networkInterface);
  if (rank === 0) {
    const store = isOneHost ? masterAddress : await listeningAddress(masterAddress, networkInterface);
    return { store, own: isOneHost ? store : ownAddress(networkInterface, store) };
  }
  const isHere = !isOneHost && (await isNameOfLoopback(masterAddress));
  const master = isHere ? await listeningAddress(masterAddress, networkInterface) : masterAddress;
  const { localAddress, remoteAddress } = await awaitListener(master, masterPort, timeoutMs);
  const scope = master.includes('%') ? master.slice(master.indexOf('%')) : '';
  const withScope = (address: string) => (scope && !address.includes('%') ? address + scope : address);
  const local = isOneHost ? localAddress : ownAddress(networkInterface, withScope(localAddress));
  return { store: withScope(remoteAddress), own: local };
}

/** Whether a name resolves to a loopback address on this host. */
async function isNameOfLoopback(name: string): Promise<boolean> {
  if (isIP(withoutScope(name)) || name === 'localhost') return false;
  const found = await lookup(name, { all: true }).catch(() => []);
  return found.length > 0 && found.every(({ address }) => isLoopback(address));
}

/**
 * The address of this host for `name`. Many systems map their own host name to a loopback address,
 * which other hosts cannot reach.
 */
async function listeningAddress(name: string, networkInterface: string | undefined): Promise<string> {
  if (isIP(withoutScope(name)) || name === 'localhost') return name;
  const found = await lookup(name, { all: true }).catch((cause: Error) => {
    throw new AccError('ACC_RENDEZVOUS_ADDRESS', `MASTER_ADDR=${name} has no address: ${cause.message}.`, {
      cause,
      help: 'Set MASTER_ADDR to the numeric IP address of the host of rank 0.',
    });
  });
  const outer = found.find(({ address }) => !isLoopback(address));
  if (outer) return outer.address;
  if (networkInterface) return interfaceAddress(networkInterface, false);
  const all = outerAddresses();
  const v4 = all.filter((address) => !isIPv6(address));
  const [only, ...others] = v4.length > 0 ? v4 : all;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined) return found[0]!.address;
  throw new AccError(
    'ACC_RENDEZVOUS_ADDRESS',
    `MASTER_ADDR=${name} resolves to ${found[0]?.address} on its own host. Other hosts cannot reach that address. This host has ${all.join(', ')}.`,
    {
      help: 'Set MASTER_ADDR to a numeric IP address, or choose a network interface with GLOO_SOCKET_IFNAME.',
    },
  );
}

/**
 * The address of the chosen network interface, in the same family (IPv4 or IPv6) as `reached`.
 * Returns `reached` if no interface is chosen.
 */
function ownAddress(networkInterface: string | undefined, reached: string): string {
  return networkInterface ? interfaceAddress(networkInterface, isIPv6(withoutScope(reached))) : reached;
}

/**
 * @param names One interface, or several separated by commas. The first one that this host has is
 * used.
 * @throws AccError `ACC_INTERFACE_UNKNOWN`.
 */
export function interfaceAddress(names: string, isV6: boolean): string {
  const ofFamily = addressesOf(names).filter(({ address }) => isIPv6(address) === isV6);
  // A link-local address is unique only on its own link, so it comes last.
  const [best] = ofFamily.sort((a, b) => Number(isLinkLocal(a.address)) - Number(isLinkLocal(b.address)));
  if (!best) throw interfaceUnknown(`The network interface '${names}' has no IPv${isV6 ? 6 : 4} address`);
  return isLinkLocal(best.address) ? `${best.address}%${best.name}` : best.address;
}

/** @throws AccError `ACC_INTERFACE_UNKNOWN`. */
function addressesOf(names: string): { name: string; address: string }[] {
  const interfaces = networkInterfaces();
  const name = names.split(',').find((one) => interfaces[one]);
  if (name === undefined) throw interfaceUnknown(`There is no network interface '${names}'`);
  return interfaces[name]!.map(({ address }) => ({ name, address }));
}

function interfaceUnknown(what: string): AccError {
  const known = Object.entries(networkInterfaces()).map(
    ([name, addresses]) => `${name} (${addresses!.map(({ address }) => address).join(', ')})`,
  );
  return new AccError('ACC_INTERFACE_UNKNOWN', `${what}; this host has ${known.join('; ')}.`, {
    help: 'Set GLOO_SOCKET_IFNAME, or acc launch --interface, to one of these interfaces.',
  });
}

function outerAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !isLinkLocal(address))
    .map(({ address }) => address);
}

function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/i.test(address);
}

/** Whether an address is a loopback address. Of host names, only `localhost` counts. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127\./.test(name);
}

function withoutScope(address: string): string {
  return address.replace(/%.*/, '');
}
