import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { isLoopback } from '@acc/collective';

const LOOPBACK = '127.0.0.1';

/**
 * The rendezvous address of ranks that are all on one host: the loopback address, whatever
 * MASTER_ADDR is.
 */
export function addressOnOneHost(masterAddress: string): string {
  return isLoopback(masterAddress) ? masterAddress : LOOPBACK;
}

/** Whether an address or name belongs to this host. It makes no name lookup. */
export function isThisHost(address: string): boolean {
  if (isLoopback(address)) return true;
  if (!isIP(address)) return firstLabel(address) === firstLabel(hostname());
  return Object.values(networkInterfaces()).some((own) => own?.some((one) => one.address === address));
}

/** The first label of a host name: `node1` of `Node1.cluster`. */
function firstLabel(name: string): string {
  return name.split('.')[0]!.toLowerCase();
}
