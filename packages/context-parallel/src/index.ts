export { contextParallel } from './context-parallel.js';
export { resolveContextOptions, type ContextOptions } from './options.js';
