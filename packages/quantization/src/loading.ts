export { quantizeWhileLoading } from './quantize.js';
