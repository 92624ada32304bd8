import { main } from './main.js';

/** 128 + SIGHUP, SIGINT, SIGTERM. */
const INTERRUPTED = [129, 130, 143];
const OUTPUT_MS = 1_000;

// No process.exit at once: what is still to be written to a pipe would be lost.
process.exitCode = await main(process.argv.slice(2));
// An interrupted program doesn't wait for a reader that takes no more.
if (INTERRUPTED.includes(process.exitCode)) setTimeout(() => process.exit(), OUTPUT_MS).unref();
