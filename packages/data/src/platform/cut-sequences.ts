export { cutSequences } from '../sequence-shard.js';
