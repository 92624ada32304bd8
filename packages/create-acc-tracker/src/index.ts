export { createTrackerPackage, type CreateOptions } from './create.js';
export { main } from './main.js';
