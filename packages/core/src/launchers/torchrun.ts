import { environmentError, integer, text, type JobPlace, type Variables } from './variables.js';

/** What `acc launch` and torchrun set; undefined without WORLD_SIZE. @throws AccError `ACC_ENVIRONMENT`. */
export function torchrunPlace(env: Variables): JobPlace | undefined {
  if (!env['WORLD_SIZE']) return undefined;
  const size = integer(env, 'WORLD_SIZE', 1, Number.MAX_SAFE_INTEGER, undefined);
  const isAlone = size === 1;
  for (const name of isAlone ? [] : ['RANK', 'MASTER_ADDR', 'MASTER_PORT']) {
    if (!env[name]) throw environmentError(`${name} is not set, though WORLD_SIZE is ${size}`);
  }
  const rank = integer(env, 'RANK', 0, size - 1, 0);
  return {
    rank,
    size,
    localRank: integer(env, 'LOCAL_RANK', 0, size - 1, rank),
    localSize: integer(env, 'LOCAL_WORLD_SIZE', 1, size, size),
    masterAddress: isAlone ? '127.0.0.1' : text(env, 'MASTER_ADDR'),
    masterPort: isAlone ? 0 : integer(env, 'MASTER_PORT', 1, 65_535, undefined),
    jobToken: 'default',
  };
}
