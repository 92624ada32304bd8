export {
  type BucketVariable,
  type CommHook,
  type CommHookState,
  type GradientBucket,
  type StateValues,
} from './comm-hook.js';
export { castHook } from './comm-hooks/cast.js';
export type { CommHookName } from '@acc/contract';
export type { NamedCommHook } from './comm-hooks/named.js';
export { oneBitHook, type OneBitOptions } from './comm-hooks/one-bit.js';
export { powerSgdHook, type PowerSgdOptions } from './comm-hooks/power-sgd.js';
export { topKHook, type TopKOptions } from './comm-hooks/top-k.js';
export { broadcastVariables } from './broadcast.js';
export { countUsers } from './count-users.js';
export { ddp } from './ddp.js';
export { resolveDdpOptions, type DdpOptions, type ResolvedDdpOptions } from './options.js';
export { requireSameLists, type SameListsOptions } from './same-lists.js';
export { requireSameVariables } from './same-variables.js';
