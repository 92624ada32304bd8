const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/**
 * Runs `main` so that it can clean up after an interruption: its `finally` blocks run, and the
 * process ends with the exit code of the signal. Any other error ends the process with its message
 * and exit code 1.
 *
 * @param main Gets an AbortSignal, which it passes to everything that it waits for.
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
