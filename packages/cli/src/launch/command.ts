import { InvalidArgumentError, type Command } from 'commander';

interface LaunchFlags {
  readonly nproc?: number | 'auto';
  readonly nnodes?: number;
  readonly nodeRank?: number;
  readonly rdzvEndpoint?: string;
  readonly rdzvBackend?: 'c10d' | 'etcd';
  readonly rdzvId?: string;
  readonly interface?: string;
  readonly threads?: number;
  readonly maxRestarts?: number;
  readonly prefix: boolean;
}

/** Adds `launch` to the program. `setExitCode` gets the code of the job. */
export function addLaunchCommand(program: Command, setExitCode: (code: number) => void): void {
  program
    .command('launch')
    .description('run a TypeScript or JavaScript program on several processes')
    .usage('[options] <script> [args...]')
    .argument('<script>', 'the program')
    .argument('[args...]', "the program's own arguments")
    .passThroughOptions()
    .option('-n, --nproc <N>', "processes on this host, or 'auto': one a core (default: 1)", parseProcesses)
    .option('--nnodes <A>', 'hosts of the job (default: 1)', parseWhole)
    .option('--node-rank <R>', "this host's place among the hosts, from 0", parseWhole)
    .option(
      '--rdzv-endpoint <H:P>',
      'where rank 0 listens (default: a free port; of several hosts, 29500), or where etcd is',
    )
    .option(
      '--rdzv-backend <B>',
      "how hosts find each other: 'c10d', at that endpoint, or 'etcd' (default: c10d)",
    )
    .option('--rdzv-id <NAME>', "the job's name, for etcd")
    .option(
      '--interface <NAME>',
      'the network interface between hosts (default: the one that reaches rank 0)',
    )
    .option('--threads <T>', 'threads a process (default: OMP_NUM_THREADS, or cores / processes)', parseWhole)
    .option(
      '--max-restarts <K>',
      'start a job of which a rank failed again, so often (default: 0)',
      parseWhole,
    )
    .option('--no-prefix', "don't mark lines with their rank")
    .action(async (script: string, args: string[], flags: LaunchFlags) => {
      const { launch } = await import('./launch.js');
      setExitCode(await launch({ script, args, ...flags }));
    });
}

const parseProcesses = (text: string): number | 'auto' => (text === 'auto' ? text : parseWhole(text));

function parseWhole(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  const hint = /^\d+:\d+$/.test(text) ? ' Ranges are not supported.' : '';
  throw new InvalidArgumentError(`A whole number is expected.${hint}`);
}
