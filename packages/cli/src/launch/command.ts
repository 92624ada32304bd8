import { workingFolder } from '@acc/config';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { addConfigOptions, withConfigFile, type ConfigFlags } from '../config/launch-flags.js';
import { CLUSTERS } from './cluster/job.js';
import { CPU_BINDS } from './cpus/binding.js';
import { badOption } from './options.js';

interface LaunchFlags extends ConfigFlags {
  readonly nproc?: number | 'auto';
  readonly nnodes?: string;
  readonly lastCall?: number;
  readonly hostTimeout?: number;
  readonly nodeRank?: number;
  readonly rdzvEndpoint?: string;
  readonly rdzvBackend?: 'c10d' | 'etcd';
  readonly rdzvId?: string;
  readonly interface?: string;
  readonly threads?: number;
  readonly maxRestarts?: number;
  readonly grace?: number;
  readonly prefix: boolean;
  readonly cpuBind?: 'none' | 'cores' | 'numa';
  readonly logDir?: string;
  readonly tee?: 'all' | readonly number[];
  readonly dryRun?: boolean;
  readonly print?: 'slurm' | 'k8s';
  readonly image?: string;
  readonly jobName?: string;
}

/** Adds the command `launch` to the program. `setExitCode` receives the exit code of the job. */
export function addLaunchCommand(program: Command, setExitCode: (code: number) => void): void {
  const launchCommand = program
    .command('launch')
    .description('run a TypeScript or JavaScript program on several processes')
    .usage('[options] <script> [args...]')
    .argument('<script>', 'the program')
    .argument('[args...]', "the program's own arguments")
    .passThroughOptions()
    .option(
      '-n, --nproc <N>',
      "processes on this host, or 'auto': one for each core (default: 1)",
      parseProcesses,
    );
  addConfigOptions(addOutputOptions(addCpuOptions(addHostOptions(launchCommand))))
    .option(
      '--max-restarts <K>',
      'how many times to restart the job after a rank fails (default: 0)',
      parseWhole,
    )
    .option(
      '--grace <S>',
      'seconds between the signal that ends a process and SIGKILL (default: 6)',
      parseWhole,
    )
    .option('--dry-run', 'print the command, environment and CPUs of each process; start nothing')
    .addOption(
      new Option(
        '--print <CLUSTER>',
        "print a batch script ('slurm') or a manifest ('k8s'); start nothing",
      ).choices(CLUSTERS),
    )
    .option('--image <IMAGE>', 'the container image, for --print k8s')
    .option('--job-name <NAME>', "the job's name, for --print (default: the name of the script)")
    .action(async (script: string, args: string[], flags: LaunchFlags) => {
      setExitCode(await runCommand(script, args, flags));
    });
}

async function runCommand(script: string, args: readonly string[], flags: LaunchFlags): Promise<number> {
  const {
    print: cluster,
    image,
    jobName,
    ...options
  } = await withConfigFile(flags, process.env, workingFolder());
  if (cluster) {
    const { clusterFile } = await import('./cluster/print.js');
    const file = clusterFile({ script, args, ...options }, { cluster, image, jobName });
    process.stdout.write(file);
    return 0;
  }
  if (image !== undefined) throw badOption('--image', image, 'used with --print k8s only');
  if (jobName !== undefined) throw badOption('--job-name', jobName, 'used with --print only');
  const { launch } = await import('./launch.js');
  return launch({ script, args, ...options });
}

/** Adds the options of a job on several hosts. */
function addHostOptions(command: Command): Command {
  return command
    .option(
      '--nnodes <A>',
      'hosts of the job, or a range A:B of hosts that may come and go (default: 1)',
      parseNodes,
    )
    .option(
      '--last-call <S>',
      'with a range: seconds to wait for further hosts once there are enough (default: 30)',
      parseWhole,
    )
    .option(
      '--host-timeout <S>',
      'with a range or etcd: seconds after which a host that does not answer is lost (default: 10)',
      parseWhole,
    )
    .option('--node-rank <R>', "this host's rank among the hosts, from 0", parseWhole)
    .option(
      '--rdzv-endpoint <H:P>',
      'address of rank 0 (default port: a free one; with several hosts 29500), or of etcd',
    )
    .option(
      '--rdzv-backend <B>',
      "how hosts find each other: 'c10d' (rank 0 at the endpoint) or 'etcd' (default: c10d)",
    )
    .option('--rdzv-id <NAME>', "the job's name, for etcd")
    .option(
      '--interface <NAME>',
      'the network interface between hosts (default: the one that reaches rank 0)',
    );
}

/** Adds the options for cores. */
function addCpuOptions(command: Command): Command {
  return command
    .option(
      '--threads <T>',
      'threads of each process (default: OMP_NUM_THREADS, or cores / processes)',
      parseWhole,
    )
    .addOption(
      new Option(
        '--cpu-bind <HOW>',
        "run each process on cores of its own ('cores') or on a NUMA node ('numa') (default: none)",
      ).choices(CPU_BINDS),
    );
}

/** Adds the options for output. */
function addOutputOptions(command: Command): Command {
  return command
    .option('--no-prefix', "don't mark lines with their rank")
    .option('--log-dir <DIR>', 'write the output of each process to files in this folder, do not show it')
    .option('--tee <RANKS>', "with --log-dir: also show the output of these ranks: 0,2 or 'all'", parseRanks);
}

function parseRanks(text: string): 'all' | number[] {
  if (text === 'all') return text;
  if (/^\d+(,\d+)*$/.test(text)) return text.split(',').map(Number);
  throw new InvalidArgumentError("Expected 'all' or ranks with commas: 0,2.");
}

export const parseProcesses = (text: string): number | 'auto' => (text === 'auto' ? text : parseWhole(text));

export function parseWhole(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number.');
}

function parseNodes(text: string): string {
  if (/^\d+(:\d+)?$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a whole number, or the fewest and the most hosts: 1:4.');
}
