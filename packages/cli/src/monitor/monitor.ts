import { once } from 'node:events';
import { openBrowser } from './open-browser.js';
import { RunSet } from './runs/run-set.js';
import { MonitorServer } from './server/server.js';

interface MonitorFlags {
  readonly port: number | undefined;
  readonly open: boolean;
}

/**
 * Serves the page until a signal ends the command.
 *
 * @throws AccError `ACC_RECORDS_MISSING`, `ACC_RECORDS_FORMAT`, `ACC_MONITOR_PORT`.
 */
export async function monitor(paths: readonly string[], { port, open }: MonitorFlags): Promise<void> {
  const runs = new RunSet(paths);
  await runs.check();
  const server = await MonitorServer.start(runs, port);
  const ended = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  const count = runs.size === 1 ? '1 run' : `${runs.size} runs`;
  process.stdout.write(`acc monitor shows ${count}: ${server.url}\nCtrl-C ends it.\n`);
  const forget = open ? openBrowser(server.url) : undefined;
  await ended;
  forget?.();
  await server.close();
}
