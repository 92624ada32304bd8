import { InvalidArgumentError, type Command } from 'commander';

/** Adds the command `monitor` to the program. */
export function addMonitorCommand(program: Command): void {
  program
    .command('monitor')
    .description('show runs in a page of this machine, live: what holds them back, curves, ranks, alerts')
    .argument('[runs...]', 'folders of runs with autoLog, or of projects with such runs (default: runs)')
    .option(
      '--port <N>',
      'the port of the page; 0 takes a free one (default: 7007, or a free one)',
      parsePort,
    )
    .option(
      '--attach [job]',
      'ask a running job for its next steps and stacks: the number of a process, or the folder of its run (default: the only job of this user)',
    )
    .option('--no-open', 'print the address of the page, and open no browser')
    .action(async (paths: string[], { port, open, attach }: Flags) => {
      const { monitor } = await import('./monitor.js');
      const chosen = paths.length > 0 || attach !== undefined ? paths : ['runs'];
      await monitor(chosen, { port, open, attach });
    });
}

interface Flags {
  readonly port?: number;
  readonly open: boolean;
  readonly attach?: string | true;
}

const LAST_PORT = 65_535;

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= LAST_PORT) return port;
  throw new InvalidArgumentError(`Expected a port from 0 to ${LAST_PORT}.`);
}
