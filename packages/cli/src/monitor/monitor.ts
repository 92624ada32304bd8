import { once } from 'node:events';
import { findJob } from './job/find-job.js';
import { openBrowser } from './open-browser.js';
import { RunSet } from './runs/run-set.js';
import { MonitorServer } from './server/server.js';

interface MonitorFlags {
  readonly port: number | undefined;
  readonly open: boolean;
  /** The job to ask; true for the only one of this user. Undefined: none. */
  readonly attach: string | true | undefined;
}

/**
 * Serves the page until a signal ends the command.
 *
 * @throws AccError `ACC_RECORDS_MISSING`, `ACC_RECORDS_FORMAT`, `ACC_MONITOR_PORT`, `ACC_MONITOR_ATTACH`.
 */
export async function monitor(paths: readonly string[], { port, open, attach }: MonitorFlags): Promise<void> {
  const attached = attach === undefined ? undefined : findJob(attach);
  const runs = new RunSet(attached === undefined ? paths : [attached, ...paths], attached);
  await runs.check();
  const server = await MonitorServer.start(runs, port);
  const ended = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  const count = runs.size === 1 ? '1 run' : `${runs.size} runs`;
  const job = attached === undefined ? '' : `It is attached to the job of ${attached}.\n`;
  process.stdout.write(`acc monitor shows ${count}: ${server.url}\n${job}Ctrl-C ends it.\n`);
  const forget = open ? openBrowser(server.url) : undefined;
  await ended;
  forget?.();
  await server.close();
}
