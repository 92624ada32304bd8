export * from '../libtorch/index.js';
export { markAsUntransferable } from 'node:worker_threads';
export { makeFolder } from '../make-folder.js';
