export { amp } from './amp.js';
export type { LowerDtype } from './autocast.js';
export { OP_LISTS, type OpLists } from './op-lists.js';
export { resolveAmpOptions, type AmpOptions, type LossScaleOptions } from './options.js';
