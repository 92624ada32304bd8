/** Runs `main`. An error ends the process with its message on standard error and exit code 1. */
export async function exitOnError(main) {
  try {
    await main();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
