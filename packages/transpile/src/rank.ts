export { exportsOf, startPrepared } from './prepared/loaded.js';
