// How the queue tells vitest.config.ts what to run.

const VARIABLE = 'ACC_TESTS_SHARD';

/** The environment for vitest. */
export const shardEnvironment = (project, files) => ({ [VARIABLE]: JSON.stringify({ project, files }) });

/**
 * Undefined in a direct run of vitest. The variable is deleted, so that it does not reach programs
 * that tests start.
 *
 * @returns {{project: string, files: string[]} | undefined}
 */
export function givenShard() {
  const given = process.env[VARIABLE];
  delete process.env[VARIABLE];
  return given === undefined ? undefined : JSON.parse(given);
}
