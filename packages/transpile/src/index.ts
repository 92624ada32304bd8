export { scriptArguments, tsxArguments, tsxOptions } from './script-arguments.js';
