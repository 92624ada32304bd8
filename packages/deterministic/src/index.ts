export { Deterministic, type DeterministicContext } from './deterministic.js';
export { resolveDeterministicOptions, type DeterministicOptions } from './options.js';
export type { Determinism } from './determinism.js';
