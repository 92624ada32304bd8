import { AccError } from '@acc/contract';
import { oldNode } from '@acc/platform/node-version';

/** @throws AccError `ACC_NODE_TOO_OLD`. */
export function requireNode(): void {
  const problem = oldNode(process.versions);
  if (problem) throw new AccError(problem.code, problem.message, { help: problem.help });
}
