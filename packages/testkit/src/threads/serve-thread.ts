import { parentPort } from 'node:worker_threads';
import { isAccError } from '@acc/contract';
import { SharedState } from './shared-state.js';
import { ThreadRanks } from './thread-ranks.js';
import { Wire, type WireEnds } from './wire.js';

/** The default export of a module that `runOnThreads` runs. */
export type ThreadModule<Args = never, Result = unknown> = (
  args: Args,
  ranks: ThreadRanks,
) => Result | Promise<Result>;

/** A run, as the thread gets it. */
export interface ThreadRun extends WireEnds {
  readonly args: unknown;
}

/** The report of a thread at the end of a run. */
export type ThreadReport =
  | { readonly value: unknown }
  | {
      /** The position among the ranks that failed, from 0. */
      readonly order: number;
      readonly code: string | undefined;
      readonly message: string;
      readonly stack: string | undefined;
    };

/** Runs `main` for each message of the main thread. */
export function serveThread(main: ThreadModule): void {
  let ports: WireEnds['ports'] = [];
  parentPort!.on('message', (run: ThreadRun) => {
    // Until now other ranks might have read what this rank sent in the last run.
    for (const port of ports) port?.close();
    ({ ports } = run);
    void runOnce(main, run).then((report) => parentPort!.postMessage(report));
  });
}

async function runOnce(main: ThreadModule, run: ThreadRun): Promise<ThreadReport> {
  const state = new SharedState(run.memory, run.size);
  try {
    // A value that cannot be sent is a fault of this rank.
    const value = structuredClone(await main(run.args as never, new ThreadRanks(new Wire(run))));
    state.end(run.rank);
    return { value };
  } catch (error) {
    const [code, message] = [isAccError(error) ? error.code : undefined, messageOf(error)];
    const { order } = state.fail(run.rank, message);
    return { order, code, message, stack: error instanceof Error ? error.stack : undefined };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
