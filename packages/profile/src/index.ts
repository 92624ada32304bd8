export type { LayerRow } from './layer-times.js';
export type { BytesOfOwners, MemoryOwner, MemorySample } from './memory-owners.js';
export { OperatorTimes, type OperatorRow } from './operator-times.js';
export type { ProfileOptions } from './options.js';
export type { Peak } from './peak.js';
export { Profiler } from './profiler.js';
export type { StepParts } from './step-parts.js';
export type { Profile } from './profile-result.js';
