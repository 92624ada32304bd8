export { ddp } from './ddp.js';
export { resolveDdpOptions, type DdpOptions, type ResolvedDdpOptions } from './options.js';
