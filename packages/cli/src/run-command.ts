import { endByUncaught } from '@acc/platform/uncaught';
import { main } from './main.js';

/** The exit codes 128 + SIGHUP, SIGINT, SIGTERM. */
const INTERRUPTED = [129, 130, 143];
const OUTPUT_MS = 1_000;

endByUncaught();
process.exitCode = await main(process.argv.slice(2));
// Waits for output that is still to be written to a pipe, then exits. Open handles of libraries,
// for example the connection to an etcd that no longer answers, must not keep the program alive.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
process.stdout.write('', () => process.stderr.write('', () => process.exit()));
// An interrupted program does not wait for a reader that has stopped reading.
if (INTERRUPTED.includes(process.exitCode)) setTimeout(() => process.exit(), OUTPUT_MS).unref();
