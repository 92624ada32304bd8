export { bundleModule } from './bundle-module.js';
export type { BundleOptions } from './bundle-options.js';
export { scriptArguments, tsxArguments, tsxOptions } from './script-arguments.js';
