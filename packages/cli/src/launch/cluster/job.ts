import { basename, parse } from 'node:path';
import { AccError } from '@acc/contract';
import { badOption, type LaunchOptions, type LaunchPlan } from '../options.js';

/** The clusters for which `acc launch --print` writes files. */
export const CLUSTERS = ['slurm', 'k8s'] as const;
export type Cluster = (typeof CLUSTERS)[number];

/** A job for a cluster. */
export interface ClusterJob {
  /** A DNS label: the job's name in the cluster. */
  readonly name: string;
  readonly nnodes: number;
  readonly nproc: number;
  /** The number of threads of each rank. Undefined: one for each core of its share. */
  readonly threads: number | undefined;
  /** Options of `acc launch` that are the same on every host. */
  readonly options: readonly string[];
  /** The script as it was named, and its arguments. */
  readonly program: readonly string[];
}

/** A label of DNS has at most 63 characters. Kubernetes adds the number of a pod. */
const LONGEST_NAME = 50;

const SET_BY_FILE = ', because the printed file sets it';

/** Options that the file itself sets, or that have no meaning in it, and why. */
const NOT_PRINTED: readonly (readonly [keyof LaunchOptions, string, string])[] = [
  ['nodeRank', '--node-rank', SET_BY_FILE],
  ['rdzvEndpoint', '--rdzv-endpoint', SET_BY_FILE],
  ['rdzvBackend', '--rdzv-backend', SET_BY_FILE],
  ['rdzvId', '--rdzv-id', SET_BY_FILE],
  ['dryRun', '--dry-run', ', which starts nothing either'],
];

/** @throws AccError `ACC_BAD_OPTION` for an option that the file cannot take. */
export function requirePrintable(options: LaunchOptions): void {
  for (const [key, option, why] of NOT_PRINTED)
    if (options[key] !== undefined) throw badOption(option, options[key], `left out with --print${why}`);
  if (String(options.nnodes).includes(':'))
    throw badOption('--nnodes', options.nnodes, 'a number with --print');
  if (options.nproc === 'auto') throw badOption('-n', 'auto', 'a number with --print');
}

/** @throws AccError `ACC_BAD_OPTION` for a name that is no DNS label. */
export function clusterJob(options: LaunchOptions, plan: LaunchPlan, jobName?: string): ClusterJob {
  const { nnodes, nproc, threads, script, args } = plan;
  const name = jobName ?? nameOf(script);
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) || name.length > LONGEST_NAME) {
    throw badOption('--job-name', name, `at most ${LONGEST_NAME} lower-case letters, digits and hyphens`);
  }
  return { name, nnodes, nproc, threads, options: sameOnHosts(options), program: [script, ...args] };
}

/** `train_gpt.ts` becomes `train-gpt`. */
function nameOf(script: string): string {
  const words = parse(basename(script))
    .name.toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.filter(Boolean).join('-').slice(0, LONGEST_NAME).replace(/-$/, '') || 'acc';
}

function sameOnHosts(options: LaunchOptions): string[] {
  const { maxRestarts, grace, cpuBind, logDir, tee, prefix } = options;
  const given: readonly (readonly [string, unknown])[] = [
    ['--max-restarts', maxRestarts],
    ['--grace', grace],
    ['--cpu-bind', cpuBind],
    ['--interface', options.interface],
    ['--log-dir', logDir],
    ['--tee', tee],
    // `withConfigFile` gives no other file to a printed job.
    ['--config-file', options.env?.['ACC_CONFIG_FILE']],
  ];
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]));
  return prefix === false ? [...words, '--no-prefix'] : words;
}

/** @throws AccError `ACC_MISSING_OPTION`. */
export function requireImage(image: string | undefined): string {
  if (image !== undefined) return image;
  throw new AccError('ACC_MISSING_OPTION', '--print k8s needs --image.', {
    help: 'Name an image with Node.js, the program, its node_modules and libtorch: acc launch --print k8s --image registry/train:1 …',
    details: { option: '--image' },
  });
}
