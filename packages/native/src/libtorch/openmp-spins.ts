/** libgomp's own number where threads share cores. Its default, 300,000, takes milliseconds. */
const SPINS = '3000';

/**
 * Loads libtorch, and with it libgomp, which reads the environment then. Idle threads of libgomp poll
 * before they sleep. Beside other busy processes they took the cores from the threads that had work: a
 * training step took 317 ms in place of 33. `GOMP_SPINCOUNT` and `OMP_WAIT_POLICY` of the user remain.
 * Child processes do not inherit the number.
 */
export function withFewSpins(load: () => void, env: NodeJS.ProcessEnv = process.env): void {
  if (env['GOMP_SPINCOUNT'] !== undefined || env['OMP_WAIT_POLICY'] !== undefined) return load();
  env['GOMP_SPINCOUNT'] = SPINS;
  try {
    load();
  } finally {
    delete env['GOMP_SPINCOUNT'];
  }
}
