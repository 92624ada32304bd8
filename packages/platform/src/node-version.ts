// Imports nothing: other modules may not load in a Node.js that is too old.

/** The parts of the error for a Node.js that is too old. */
export interface OldNode {
  readonly code: string;
  readonly message: string;
  readonly help: string;
}

/** The versions of `process.versions`. */
export interface RunningVersions {
  readonly node: string;
  readonly deno?: string;
  readonly bun?: string;
}

/**
 * The error for a Node.js that cannot run the packages: it has no `zlib.crc32`, or no `require` of
 * ES modules without a flag. Undefined if it can. Deno and Bun name a Node.js which says nothing
 * about what they can do.
 */
export function oldNode({ node: version, deno, bun }: RunningVersions): OldNode | undefined {
  if (deno !== undefined || bun !== undefined) return undefined;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < 20 || major === 21;
  if (!isOld && !(major === 20 && minor < 19) && !(major === 22 && minor < 12)) return undefined;
  return {
    code: 'ACC_NODE_TOO_OLD',
    message: `Node.js ${version} is too old for Accelerate for TensorFlow.js.`,
    help: 'Install Node.js 22 or 24. The oldest versions that work are 20.19 and 22.12.',
  };
}
