// Imports nothing: other modules may not load in a Node.js that is too old.

/** The parts of the error for a Node.js that is too old. */
export interface OldNode {
  readonly code: string;
  readonly message: string;
  readonly help: string;
}

/** The error for a Node.js that cannot run the packages. Undefined if it can. */
export function oldNode(version: string): OldNode | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < 20 || major === 21;
  if (!isOld && !(major === 20 && minor < 19) && !(major === 22 && minor < 2)) return undefined;
  return {
    code: 'ACC_NODE_TOO_OLD',
    message: `Node.js ${version} is too old for Accelerate for TensorFlow.js.`,
    help: 'Install Node.js 22 or 24. The oldest versions that work are 20.19 and 22.2.',
  };
}
