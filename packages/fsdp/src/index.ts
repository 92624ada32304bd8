export { fsdp, precisionOf } from './fsdp.js';
export {
  isForOne,
  resolveFsdpOptions,
  type FsdpDtype,
  type FsdpMixedPrecision,
  type FsdpOptions,
  type FsdpStage,
  type WrapBySize,
} from './options.js';
export { requireState, type OffloadOptions } from './offload/index.js';
