import { AccError } from '@acc/contract';
import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { awaitListener } from './await-listener.js';
import type { JoinOptions } from './options.js';

/** Addresses as numbers. */
export interface Addresses {
  /** Where the store is. */
  readonly store: string;
  /** What peers reach this rank by. */
  readonly own: string;
}

/**
 * Finds the addresses that this rank uses: the loopback's only where that is where rank 0 is said to be, for other hosts may
 * come to any other address. Ranks other than 0 wait here until the store listens.
 *
 * @throws AccError `ACC_RENDEZVOUS_FAILED`, `ACC_RENDEZVOUS_ADDRESS`, `ACC_INTERFACE_UNKNOWN`.
 */
export async function findAddresses(options: JoinOptions, timeoutMs: number): Promise<Addresses> {
  const { rank, masterAddress, masterPort, networkInterface } = options;
  const isOneHost = options.isOneHost && isLoopback(masterAddress);
  // Before waiting for anybody.
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
  const own = isOneHost ? localAddress : ownAddress(networkInterface, withScope(localAddress));
  return { store: withScope(remoteAddress), own };
}

/** Whether this host takes a name for its own. */
async function isNameOfLoopback(name: string): Promise<boolean> {
  if (isIP(withoutScope(name)) || name === 'localhost') return false;
  const found = await lookup(name, { all: true }).catch(() => []);
  return found.length > 0 && found.every(({ address }) => isLoopback(address));
}

/**
 * The address of this host that `name` stands for. Many systems map their own name to a loopback address, where no other
 * host would find the store.
 */
async function listeningAddress(name: string, networkInterface: string | undefined): Promise<string> {
  if (isIP(withoutScope(name)) || name === 'localhost') return name;
  const found = await lookup(name, { all: true }).catch((cause: Error) => {
    throw new AccError('ACC_RENDEZVOUS_ADDRESS', `MASTER_ADDR=${name} has no address: ${cause.message}.`, {
      cause,
      help: 'Give the address of the host of rank 0 as a number.',
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
    `MASTER_ADDR=${name} is ${found[0]?.address} on its own host, which other hosts can't reach; this host has ${all.join(', ')}.`,
    { help: 'Give the address as a number, or choose a network interface with GLOO_SOCKET_IFNAME.' },
  );
}

/** The address of the interface that was asked for, of the family of `reached`; without one, `reached` itself. */
function ownAddress(networkInterface: string | undefined, reached: string): string {
  return networkInterface ? interfaceAddress(networkInterface, isIPv6(withoutScope(reached))) : reached;
}

/**
 * @param names An interface, or several with commas between, of which the first that this host has is taken.
 * @throws AccError `ACC_INTERFACE_UNKNOWN`.
 */
export function interfaceAddress(names: string, isV6: boolean): string {
  const ofFamily = addressesOf(names).filter(({ address }) => isIPv6(address) === isV6);
  // A link-local address is unique on its link only, and stands last.
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
    help: 'Name one of these with GLOO_SOCKET_IFNAME, or acc launch --interface.',
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

/** Whether an address, or a name by itself, is that of the loopback interface. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127\./.test(name);
}

function withoutScope(address: string): string {
  return address.replace(/%.*/, '');
}
