import { ClientSession, type FederationSummary } from './session.js';
import { resolveFederationOptions, type FederationOptions } from './options.js';
import type { OpenSocket } from './socket.js';

/** A client's part in a federated training. */
export interface Membership {
  /** The name of this client. */
  readonly name: string;
  /**
   * Resolves when the training has ended, with the final weights in the model, or after `leave`.
   * Rejects with an error of `train`, or with the reason for which the client cannot go on:
   * `ACC_FEDERATED_LOST`, `ACC_FEDERATED_REPLACED`, `ACC_FEDERATED_REFUSALS`,
   * `ACC_FEDERATED_PROXIMAL`, `ACC_FEDERATED_RESULT` or a code of `joinFederation`.
   */
  readonly done: Promise<FederationSummary>;
  /** Leaves the training. The result of a `train` that runs is not sent. */
  leave(): Promise<FederationSummary>;
}

export async function joinThrough(open: OpenSocket, options: FederationOptions): Promise<Membership> {
  const session = new ClientSession(resolveFederationOptions(options), open);
  await session.joined;
  return { name: session.name, done: session.done, leave: () => session.leave() };
}
