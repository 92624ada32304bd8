/** Node's own. */
const DEFAULT_FRAMES = 10;
/** An operator in a loss lies up to fifty calls below the program's line: the tape, `minimize` and what is prepared of it. */
const ENOUGH_FRAMES = 60;

/**
 * Lets stack traces reach the program's line, unless the program has chosen another depth itself. It costs time where errors are
 * made, and nowhere else. Returns what puts the depth back.
 */
export function deepenStackTraces(): () => void {
  if (Error.stackTraceLimit !== DEFAULT_FRAMES) return () => {};
  Error.stackTraceLimit = ENOUGH_FRAMES;
  return () => {
    if (Error.stackTraceLimit === ENOUGH_FRAMES) Error.stackTraceLimit = DEFAULT_FRAMES;
  };
}
