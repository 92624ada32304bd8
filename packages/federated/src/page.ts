// The entry for pages: what joins, without the coordinator and without Node.js.
export type { FederatedRound } from './client/federated-round.js';
export { joinFederation } from './client/join-in-page.js';
export type { Membership } from './client/membership.js';
export type { FederationOptions, LocalResult, RefusedUpdate } from './client/options.js';
export type { FederationSummary } from './client/session.js';
export type { FederatedModel, FederatedWeight } from './weights/weight-source.js';
