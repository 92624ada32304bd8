export {
  consoleTracker,
  csvTracker,
  jsonlTracker,
  type ConsoleOptions,
  type CsvOptions,
  type JsonlOptions,
} from '@acc/tracker';
export { clipToNorm, normOf } from './aggregate/clip.js';
export { fedAvg } from './aggregate/fed-avg.js';
export { coordinateMedian } from './aggregate/median.js';
export { trimmedMean } from './aggregate/trimmed-mean.js';
export type { AggregatorName } from './aggregate/aggregators.js';
export type { Aggregator, ClientUpdate } from './aggregate/update.js';
export type { FederatedRound } from './client/federated-round.js';
export { joinFederation } from './client/join-in-node.js';
export type { Membership } from './client/membership.js';
export type { FederationOptions, LocalResult, RefusedUpdate } from './client/options.js';
export type { FederationSummary } from './client/session.js';
export { startCoordinator, type Coordinator, type CoordinatorSummary } from './coordinator/coordinator.js';
export type { CoordinatorOptions, RoundMetrics } from './coordinator/options.js';
export type { AcceptedUpdate, RoundRecord } from './coordinator/round-record.js';
export type { Compression } from './protocol/compression.js';
export type { FederatedModel, FederatedWeight } from './weights/weight-source.js';
