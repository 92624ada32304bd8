import { join } from 'node:path';

/**
 * The variables with which tests, and the processes that they start, write what they take into a folder
 * (count-file.ts, count-process.cjs).
 */
export function countingEnvironment(folder) {
  const hook = `--require=${join(import.meta.dirname, 'count-process.cjs')}`;
  return {
    ACC_TEST_COUNTS: folder,
    NODE_OPTIONS: [process.env.NODE_OPTIONS, hook].filter(Boolean).join(' '),
  };
}
