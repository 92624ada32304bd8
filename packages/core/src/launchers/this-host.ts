import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { isLoopback } from '@acc/collective';

const LOOPBACK = '127.0.0.1';

/** Where ranks meet that are all on one host: its loopback, whatever MASTER_ADDR says. */
export function addressOnOneHost(masterAddress: string): string {
  return isLoopback(masterAddress) ? masterAddress : LOOPBACK;
}

/** Whether an address, or a name without asking anybody, is this host's own. */
export function isThisHost(address: string): boolean {
  if (isLoopback(address)) return true;
  if (!isIP(address)) return firstLabel(address) === firstLabel(hostname());
  return Object.values(networkInterfaces()).some((own) => own?.some((one) => one.address === address));
}

/** `node1` of `Node1.cluster`. */
function firstLabel(name: string): string {
  return name.split('.')[0]!.toLowerCase();
}
