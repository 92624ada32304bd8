export { bundleModule, type BundleOptions } from './bundle-module.js';
export { scriptArguments, tsxArguments, tsxOptions } from './script-arguments.js';
