export { isHere, openOffload, warnIsHere, type Offload } from './offload.js';
export {
  offloadSchema,
  resolveOffload,
  type OffloadOptions,
  type ResolvedOffload,
} from './offload-options.js';
export { requireState } from './slots.js';
