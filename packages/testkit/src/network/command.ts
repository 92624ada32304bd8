import { spawnSync } from 'node:child_process';
import { AccError } from '@acc/contract';

/**
 * Runs a program and returns its output. @throws AccError `ACC_TEST_NETWORK` with its error output.
 */
export function command(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new AccError('ACC_TEST_NETWORK', `${program} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`, {
    cause: error,
    help: 'A test network needs Linux, root, TAP devices, and the programs ip and cc (Debian: iproute2, gcc).',
  });
}
