import { readFileSync } from 'node:fs';

/** Whether the system lists all these instruction sets for this CPU (`avx512f`). False outside of Linux on x64. */
export function cpuHas(...flags: readonly string[]): boolean {
  if (process.platform !== 'linux' || process.arch !== 'x64') return false;
  const listed = readFileSync('/proc/cpuinfo', 'utf8');
  return flags.every((flag) => new RegExp(`\\b${flag}\\b`).test(listed));
}
