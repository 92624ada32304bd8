export * from '../libtorch/index.js';
export { makeFolder } from '../make-folder.js';
