import { joinThrough, type Membership } from './membership.js';
import type { FederationOptions } from './options.js';
import { openPageSocket } from './page-socket.js';

/**
 * Joins a federated training. Resolves when this program has the current weights.
 *
 * @throws AccError as in Node.js, and `ACC_FEDERATED_NO_WEBSOCKET`.
 */
export function joinFederation(options: FederationOptions): Promise<Membership> {
  return joinThrough(openPageSocket, options);
}
