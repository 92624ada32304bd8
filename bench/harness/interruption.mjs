const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/**
 * Runs `main` so that an interruption lets it tidy up: its `finally` blocks run, and the process ends with the signal's exit
 * code. Any other error ends it with its message and exit code 1.
 *
 * @param main Gets an AbortSignal, to hand to whatever it waits for.
 */
export async function runInterruptibly(main) {
  const controller = new AbortController();
  let exitCode = 1;
  const listeners = Object.entries(EXIT_CODES).map(([name, code]) => {
    const listener = () => {
      exitCode = code;
      controller.abort(new Error(`Interrupted by ${name}`));
    };
    process.on(name, listener);
    return [name, listener];
  });
  try {
    await main(controller.signal);
  } catch (error) {
    console.error(error.message);
    process.exitCode = exitCode;
  } finally {
    for (const [name, listener] of listeners) process.off(name, listener);
  }
}
