export { scriptArguments, tsxArguments } from './script-arguments.js';
