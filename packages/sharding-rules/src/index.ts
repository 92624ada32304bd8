export { rows, sum, type Plan, type Result, type Rule } from './plan.js';
export { ShardedCall, type InputState, type ShardedInput } from './sharded-call.js';
export { LINEAR_RULES, RANDOM, RULES, SAME_DATA } from './table.js';
