export { amp } from './amp.js';
export type { LowerDtype } from './autocast.js';
export { float32Only } from './float32-only.js';
export { float32Precision } from './float32-precision.js';
export { OP_LISTS, type OpLists } from './op-lists.js';
export { resolveAmpOptions, type AmpOptions, type Float8Options, type LossScaleOptions } from './options.js';
