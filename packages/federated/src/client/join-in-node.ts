import { joinThrough, type Membership } from './membership.js';
import { openNodeSocket } from './node-socket.js';
import type { FederationOptions } from './options.js';

/**
 * Joins a federated training. Resolves when this program has the current weights. From then on
 * `train` is called for each round that the coordinator chooses it for. Await `done` of the result.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_FEDERATED_UNREACHABLE`;
 * `ACC_FEDERATED_TOKEN`, `ACC_FEDERATED_ORIGIN`, `ACC_FEDERATED_FULL` if the coordinator refuses
 * it; `ACC_FEDERATED_MODEL` if the model differs.
 */
export function joinFederation(options: FederationOptions): Promise<Membership> {
  return joinThrough(openNodeSocket, options);
}
