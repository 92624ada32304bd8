import type { CommandOption } from '@acc/config';

/** The flags of `acc launch` for a file with which a cluster starts the job. */
export const PRINT_OPTIONS = {
  /** The cluster for which a file is printed. */
  print: {
    kind: 'choice',
    choices: ['slurm', 'k8s'],
    group: 'Without a start',
    flag: '--print <CLUSTER>',
    help: "print a batch script ('slurm') or a manifest ('k8s') for the job; start nothing",
  },
  /** The container image, for Kubernetes. */
  image: {
    kind: 'text',
    otherwise: 'none; k8s needs it',
    group: 'Without a start',
    flag: '--image <IMAGE>',
    help: "with '--print k8s': the container image",
  },
  /** The job's name in the cluster. Default: from the name of the script. */
  jobName: {
    kind: 'text',
    otherwise: 'from the name of the script',
    group: 'Without a start',
    flag: '--job-name <NAME>',
    help: "with '--print': the name of the job",
  },
} as const satisfies Readonly<Record<string, CommandOption>>;

export type Cluster = (typeof PRINT_OPTIONS)['print']['choices'][number];
