/** The default of Node.js. */
const DEFAULT_FRAMES = 10;
/**
 * An operator in a loss is up to fifty calls below the program's own line: the tape, `minimize` and
 * its prepared methods lie between.
 */
const ENOUGH_FRAMES = 60;

/**
 * Makes stack traces long enough to reach the program's own line, unless the program has chosen
 * another depth. It costs time only when an error is created. Returns a function that restores the
 * depth.
 */
export function deepenStackTraces(): () => void {
  if (Error.stackTraceLimit !== DEFAULT_FRAMES) return () => {};
  Error.stackTraceLimit = ENOUGH_FRAMES;
  return () => {
    if (Error.stackTraceLimit === ENOUGH_FRAMES) Error.stackTraceLimit = DEFAULT_FRAMES;
  };
}
