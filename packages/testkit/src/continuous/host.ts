// The program of a rank that runs module after module. `Job` starts it and sends it modules.
import { channel } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { engine } from '@tensorflow/tfjs-core';
import { countIdsFrom } from '@acc/tfjs-internals';
import { decodeResult, encodeResult } from '../rank-result.js';
import { startedRank } from '../rank-process.js';
import { takeKeptPlaces, traceKeptTensors } from './kept-tensors.js';
import { collectGarbage, holdings, leftSince } from './left-behind.js';
import { RUNS_CHANNEL, type Answer, type RunEnded, type RunMessage } from './messages.js';

type Program = (args: unknown, ranks: ReturnType<typeof startedRank>) => unknown;

const argv = [...process.argv];
const runs = channel(RUNS_CHANNEL);
const answer = (message: Answer) => void process.send!(message);

async function run({ id, url, args }: RunMessage): Promise<void> {
  try {
    const { default: program } = (await import(url)) as { default?: unknown };
    if (typeof program !== 'function') throw new TypeError(`${url} has no function as its default export.`);
    // Loading a module may set the program's arguments.
    process.argv.splice(0, process.argv.length, ...argv);
    // Equal on all ranks, whatever earlier modules created. Ranks compare the names of variables, and a
    // variable without a name is named by its number.
    countIdsFrom(++modules * IDS_OF_A_MODULE);
    // Garbage of the start would hide what modules leave behind. Later, there is no more than at first.
    if (modules === 1) collectGarbage();
    const before = holdings();
    const result = await inScope(() => (program as Program)(decodeResult(args), startedRank()));
    const left = await leftSince(before);
    answer({ id, result: encodeResult(result), left: left.length > 0 ? [...left, ...takeKeptPlaces()] : [] });
  } catch (error) {
    answer({ id, error: inspect(error) });
  } finally {
    const { user, system } = process.cpuUsage();
    runs.publish({ id, processorSeconds: (user + system) / 1e6 } satisfies RunEnded);
  }
}

let modules = 0;
/** More tensors than a module creates. */
const IDS_OF_A_MODULE = 1e7;

/**
 * Disposes the tensors that `work` created, as `tf.tidy` does. Variables and tensors under `tf.keep`
 * stay. State of a library is one of these, because programs call it within `tf.tidy`.
 */
async function inScope(work: () => unknown): Promise<unknown> {
  engine().startScope('module');
  try {
    return await work();
  } finally {
    engine().endScope();
  }
}

if (process.env['ACC_TEST_TRACE_KEPT'] === '1') traceKeptTensors();
process.on('message', (message) => void run(message as RunMessage));
process.once('disconnect', () => process.exit());
