export { portableShards } from '../shards/portable-shards.js';
