export { isDiskFull } from '../disk-full.js';
export { ProcessEnding } from '../ending/process-ending.js';
export { importPackage } from '../import-package.js';
