export { collectiveCases, runCollectiveCases, type CaseResult } from './collectives/conformance.js';
export type { CollectiveCase, CollectiveSubject, Content } from './collectives/subject.js';
export { cpuHas } from './cpu-has.js';
export { expectClose, type CloseOptions, type Values } from './expect-close.js';
export { expectNoLeak, type LeakOptions, type MemoryCounts } from './expect-no-leak.js';
export { freePort } from '@acc/platform/ports';
export { reportResult } from './rank-result.js';
export { startedRank } from './rank-process.js';
export { resultsOfRanks, runRanks, type RankResult, type RunRanksOptions } from './run-ranks.js';
export { closeRanks, runOnRanks } from './continuous/run-on-ranks.js';
export type { RunOnRanksOptions } from './continuous/run-options.js';
export { seededRandom } from './seeded-random.js';
export {
  TestNetwork,
  type CableOptions,
  type TestHost,
  type TestNetworkOptions,
} from './network/test-network.js';
export { storageCases, type StorageCase } from './storages/storage-cases.js';
export { trackerCases, trackerCasesFor } from './trackers/conformance.js';
export type { TrackedRun, TrackedValue, TrackerCase, TrackerSubject } from './trackers/subject.js';
