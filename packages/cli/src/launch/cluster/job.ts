import { basename, parse } from 'node:path';
import { AccError } from '@acc/contract';
import { LAUNCH_OPTIONS } from '@acc/config';
import { badOption } from '../check-values.js';
import { nameOfFlag } from '../flags.js';
import type { LaunchOptions, LaunchPlan } from '../options.js';

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

const SET_BY_FILE = { refused: ', because the printed file sets it' };
/** The file has its value in a form of its own. */
const FORMS_FILE = 'formsFile';
/** The file gives it to `acc launch` on every host. */
const SAME_ON_HOSTS = 'sameOnHosts';
/** It is refused without a range of hosts or etcd, which a printed file does not have. */
const FOR_RANGES = 'forRanges';

/** How a printed file takes each option. `refused` ends the sentence that refuses it. */
const PRINTED: Readonly<Record<OptionName, string | { readonly refused: string }>> = {
  nproc: FORMS_FILE,
  nnodes: FORMS_FILE,
  lastCall: FOR_RANGES,
  hostTimeout: FOR_RANGES,
  nodeRank: SET_BY_FILE,
  rdzvEndpoint: SET_BY_FILE,
  rdzvBackend: SET_BY_FILE,
  rdzvId: SET_BY_FILE,
  interface: SAME_ON_HOSTS,
  threads: FORMS_FILE,
  oversubscribe: FORMS_FILE,
  maxRestarts: SAME_ON_HOSTS,
  grace: SAME_ON_HOSTS,
  cpuBind: SAME_ON_HOSTS,
  prefix: FORMS_FILE,
  logDir: SAME_ON_HOSTS,
  tee: SAME_ON_HOSTS,
  module: FORMS_FILE,
  dryRun: { refused: ', which starts nothing either' },
};

type OptionName = keyof typeof LAUNCH_OPTIONS;
const NAMES = Object.keys(PRINTED) as OptionName[];

/** @throws AccError `ACC_BAD_OPTION` for an option that the file cannot take. */
export function requirePrintable(options: LaunchOptions): void {
  for (const name of NAMES) {
    const printed = PRINTED[name];
    if (typeof printed === 'string' || options[name] === undefined) continue;
    const why = `left out with --print${printed.refused}`;
    throw badOption(nameOfFlag(LAUNCH_OPTIONS[name]), options[name], why);
  }
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
  const given: readonly (readonly [string, unknown])[] = [
    ...NAMES.filter((name) => PRINTED[name] === SAME_ON_HOSTS).map(
      (name) => [nameOfFlag(LAUNCH_OPTIONS[name]), options[name]] as const,
    ),
    // `withConfigFile` gives no other file to a printed job.
    ['--config-file', options.env?.['ACC_CONFIG_FILE']],
  ];
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]));
  const switches = [
    ...(options.oversubscribe ? [nameOfFlag(LAUNCH_OPTIONS.oversubscribe)] : []),
    ...(options.prefix === false ? [nameOfFlag(LAUNCH_OPTIONS.prefix)] : []),
    ...(options.module ? [nameOfFlag(LAUNCH_OPTIONS.module)] : []),
  ];
  return [...words, ...switches];
}

/** @throws AccError `ACC_MISSING_OPTION`. */
export function requireImage(image: string | undefined): string {
  if (image !== undefined) return image;
  throw new AccError('ACC_MISSING_OPTION', '--print k8s needs --image.', {
    help: 'Name an image with Node.js, the program, its node_modules and libtorch: npx acc launch --print k8s --image registry/train:1 …',
    details: { option: '--image' },
  });
}
