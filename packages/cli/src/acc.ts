import { main } from './main.js';

/** 128 + SIGHUP, SIGINT, SIGTERM. */
const INTERRUPTED = [129, 130, 143];
const OUTPUT_MS = 1_000;

process.exitCode = await main(process.argv.slice(2));
// What is still to be written to a pipe goes out first. Then nothing that a library has left open keeps the program: the
// connection to an etcd that no longer answers, for instance.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
process.stdout.write('', () => process.stderr.write('', () => process.exit()));
// An interrupted program doesn't wait for a reader that takes no more.
if (INTERRUPTED.includes(process.exitCode)) setTimeout(() => process.exit(), OUTPUT_MS).unref();
