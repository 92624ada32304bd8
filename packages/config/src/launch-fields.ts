import type { Field } from './field.js';

const FIELDS = [
  {
    kind: 'whole',
    name: 'nproc',
    least: 1,
    words: ['auto'],
    meaning: 'processes on each host; auto: one for each core',
    fallback: '1',
  },
  { kind: 'whole', name: 'nnodes', least: 1, meaning: 'hosts of the job', fallback: '1' },
  {
    kind: 'text',
    name: 'rdzvEndpoint',
    meaning: 'address of rank 0 or of etcd, HOST:PORT',
    fallback: 'none',
  },
  {
    kind: 'choice',
    name: 'rdzvBackend',
    choices: ['c10d', 'etcd'],
    meaning: 'how hosts find each other',
    fallback: 'c10d',
  },
  { kind: 'text', name: 'rdzvId', meaning: "the job's name, for etcd", fallback: 'none' },
  {
    kind: 'text',
    name: 'interface',
    meaning: 'the network interface between hosts',
    fallback: 'the one that reaches rank 0',
  },
  {
    kind: 'whole',
    name: 'threads',
    least: 1,
    meaning: 'threads of each process',
    fallback: 'OMP_NUM_THREADS, or cores / processes',
  },
  {
    kind: 'whole',
    name: 'maxRestarts',
    least: 0,
    meaning: 'restarts of the job after a rank fails',
    fallback: '0',
  },
  {
    kind: 'choice',
    name: 'cpuBind',
    choices: ['none', 'cores', 'numa'],
    meaning: 'binds each process to cores or to a NUMA node',
    fallback: 'none',
  },
] as const satisfies readonly Field[];

/** The options of `acc launch` that a file can give. Names are those of `LaunchOptions`. */
export const LAUNCH_FIELDS: readonly (Field & { readonly name: (typeof FIELDS)[number]['name'] })[] = FIELDS;
