export { fsdp } from './fsdp.js';
export { resolveFsdpOptions, type FsdpOptions, type FsdpStage, type WrapBySize } from './options.js';
