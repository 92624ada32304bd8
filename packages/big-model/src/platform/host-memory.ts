export { tmpdir } from 'node:os';
export { bytesForWeights } from '../dispatch/free-memory.js';
export { ValueFile } from '../value-file.js';
