import { parseArgs } from 'node:util';
import { parseNetwork } from '../network/shapes.mjs';
import { defaultRanks } from '../scaling/plan.mjs';
import { workloads } from './workloads.mjs';

const SIDES = ['ours', 'theirs'];
const DEVICES = ['cpu', 'cuda'];
const PRECISIONS = ['fp32', 'bf16', 'fp16'];
const precisionUsage = `--precision P   of ${PRECISIONS.join(', ')}: the 16-bit ones by mixed precision, on both sides; default fp32`;

export const usage = `node bench/run.mjs [options]
  --models a,b    of ${Object.keys(workloads).join(', ')}; default all
  --ranks 1,2     numbers of processes; default 1,2, and on cuda 1
  --threads 1,2   threads of each rank; default 1. What needs more cores than there are is left out
  --device NAME   of ${DEVICES.join(', ')}; default cpu
  ${precisionUsage}
  --repeats N     processes started for each side, model and number of ranks, in turn; default 5
  --blocks N      timed blocks in each process; default 3
  --steps N       steps in each block; default is the model's in workloads.json
  --sides a,b     of ours, theirs; default both. One side alone is printed, not recorded
  --python PATH   a Python with torch and accelerate; default is bench/.venv, made when it is not there
  --compile       our side by accelerator.compile: recorded and replayed; theirs stays eager
  --name NAME     of the files in bench/results; default made of the date and the CPU
  --help          this text`;

export const profileUsage = `node bench/profile.mjs [options]
  --models a,b    of ${Object.keys(workloads).join(', ')}; default all
  --threads N     default 1
  ${precisionUsage}
  --steps N       profiled steps; default is the model's in workloads.json
  --python PATH   a Python with torch and accelerate; default is bench/.venv, made when it is not there
  --name NAME     of the file in bench/results, which ends in -profile.md; default made of the date and the CPU
  --help          this text`;

export const memoryUsage = `node bench/memory.mjs [options]
  --models a,b    of ${Object.keys(workloads).join(', ')}; default all
  ${precisionUsage}
  --python PATH   a Python with torch and accelerate; default is bench/.venv, made when it is not there
  --name NAME     of the file in bench/results; default memory, or memory-bf16
  --help          this text`;

export const checkpointingUsage = `node bench/checkpointing.mjs [options]
  --layers N      of the GPT; default 24
  --repeats N     processes started for each side, with and without, in turn; default 3
  --threads N     default 1
  ${precisionUsage}
  --python PATH   a Python with torch and accelerate; default is bench/.venv, made when it is not there
  --name NAME     of the file in bench/results; default checkpointing
  --help          this text`;

export const checkpointUsage = `node bench/checkpoint.mjs [options]
  --folder PATH   where checkpoints are written; default bench/.checkpoints, deleted afterwards
  --repeats N     of everything, in turn; default 5
  --python PATH   a Python with torch and accelerate; default is bench/.venv, made when it is not there
  --name NAME     of the file in bench/results; default checkpoint
  --help          this text`;

const LEARNERS = ['convnet', 'gpt'];

export const convergenceUsage = `node bench/convergence.mjs [options]
  --models a,b    of ${LEARNERS.join(', ')}; default all
  --steps N       of training; default 300
  --threads N     default 1
  --name NAME     of the file in bench/results; default convergence
  --help          this text`;

export const scalingUsage = `node bench/scaling.mjs [options]
  --models a,b    of ${Object.keys(workloads).join(', ')}; default mlp,convnet,gpt
  --ranks 1,2     numbers of processes, none of more than the cores; default 1, 2, 4, … and the number of cores
  --networks a,b  host: this machine itself; or rate/delay, as 200mbit/20ms: ranks in network namespaces (Linux, as root, with
                  iproute2). Default host,10gbit/1ms,1gbit/1ms, of which a machine that can't leaves out the namespaces
  --repeats N     processes started for each side and case, in turn; default 2
  --blocks N      timed blocks in each process; default 2
  --steps N       steps in each block; default is the model's
  --python PATH   a Python with torch and accelerate; default is bench/.venv, made when it is not there
  --name NAME     of the files in bench/results; default scaling
  --help          this text`;

export const collectivesUsage = `node bench/collectives.mjs [options]
  --ranks 2,4     numbers of processes on this host; default 2,4
  --network RATE  rate/delay between two hosts, network namespaces; default 10gbit/1ms, left out where there are no namespaces
  --repeats N     processes started for each side and case, in turn; default 3
  --python PATH   a Python with torch; default is bench/.venv, made when it is not there
  --help          this text`;

export const trackersUsage = `node bench/trackers.mjs [options]
  --seconds N     spent logging; default 60
  --help          this text`;

export const deterministicUsage = `node bench/deterministic.mjs [options]
  --models a,b    of ${Object.keys(workloads).join(', ')}; default mlp,convnet,gpt
  --ranks 1,2     numbers of processes, powers of two; default 1,2
  --steps N       steps in each block, and before it; default 20
  --blocks N      timed blocks of each kind; default 3
  --name NAME     of the file in bench/results; default deterministic
  --help          this text`;

const text = (value) => ({ type: 'string', default: value });
const given = { type: 'string' };
const help = { type: 'boolean', default: false };
const ALL_MODELS = Object.keys(workloads).join(',');

/**
 * The bench's options from the command line, complete.
 *
 * @throws Error that says what is wrong.
 */
export function parseOptions(args) {
  const known = {
    ...{
      models: text(ALL_MODELS),
      ranks: given,
      threads: text('1'),
      device: text('cpu'),
      precision: text('fp32'),
      repeats: text('5'),
    },
    compile: { type: 'boolean', default: false },
    ...{ blocks: text('3'), steps: given, sides: text(SIDES.join(',')), python: given, name: given, help },
  };
  const values = parseValues(args, known, usage);
  const device = oneOf('device', values.device, DEVICES);
  return {
    models: list('models', values.models, Object.keys(workloads)),
    ranks: counts('ranks', values.ranks ?? (device === 'cpu' ? '1,2' : '1')),
    threads: counts('threads', values.threads),
    device,
    precision: oneOf('precision', values.precision, PRECISIONS),
    repeats: count('repeats', values.repeats),
    blocks: count('blocks', values.blocks),
    steps: values.steps === undefined ? undefined : count('steps', values.steps),
    sides: list('sides', values.sides, SIDES),
    compile: values.compile,
    python: values.python,
    name: values.name,
    help: values.help,
  };
}

/** The options of `npm run bench:profile`; as {@link parseOptions}. */
export function parseProfileOptions(args) {
  const known = {
    models: text(ALL_MODELS),
    threads: text('1'),
    precision: text('fp32'),
    steps: given,
    python: given,
    name: given,
    help,
  };
  const values = parseValues(args, known, profileUsage);
  return {
    models: list('models', values.models, Object.keys(workloads)),
    threads: count('threads', values.threads),
    precision: oneOf('precision', values.precision, PRECISIONS),
    steps: values.steps === undefined ? undefined : count('steps', values.steps),
    python: values.python,
    name: values.name,
    help: values.help,
  };
}

/** The options of `npm run bench:memory`; as {@link parseOptions}. */
export function parseMemoryOptions(args) {
  const known = { models: text(ALL_MODELS), precision: text('fp32'), python: given, name: given, help };
  const values = parseValues(args, known, memoryUsage);
  const precision = oneOf('precision', values.precision, PRECISIONS);
  const name = values.name ?? (precision === 'fp32' ? 'memory' : `memory-${precision}`);
  return { ...values, precision, name, models: list('models', values.models, Object.keys(workloads)) };
}

/** The options of `npm run bench:convergence`; as {@link parseOptions}. */
export function parseConvergenceOptions(args) {
  const known = {
    ...{ models: text(LEARNERS.join(',')), steps: text('300'), threads: text('1') },
    ...{ name: text('convergence'), help },
  };
  const values = parseValues(args, known, convergenceUsage);
  return {
    ...values,
    models: list('models', values.models, LEARNERS),
    steps: count('steps', values.steps),
    threads: count('threads', values.threads),
  };
}

/** The options of `npm run bench:checkpointing`; as {@link parseOptions}. */
export function parseCheckpointingOptions(args) {
  const known = {
    ...{ layers: text('24'), repeats: text('3'), threads: text('1'), precision: text('fp32') },
    ...{ python: given, name: text('checkpointing'), help },
  };
  const values = parseValues(args, known, checkpointingUsage);
  return {
    ...values,
    layers: count('layers', values.layers),
    repeats: count('repeats', values.repeats),
    threads: count('threads', values.threads),
    precision: oneOf('precision', values.precision, PRECISIONS),
  };
}

/** The options of `npm run bench:checkpoint`; as {@link parseOptions}. */
export function parseCheckpointOptions(args) {
  const known = { folder: given, repeats: text('5'), python: given, name: text('checkpoint'), help };
  const values = parseValues(args, known, checkpointUsage);
  return { ...values, repeats: count('repeats', values.repeats) };
}

/** The options of `npm run bench:scaling`, for a machine of so many cores; as {@link parseOptions}. */
export function parseScalingOptions(args, cores) {
  const known = {
    ...{ models: text('mlp,convnet,gpt'), ranks: given, networks: given, repeats: text('2') },
    ...{ blocks: text('2'), steps: given, python: given, name: text('scaling'), help },
  };
  const values = parseValues(args, known, scalingUsage);
  const ranks = values.ranks === undefined ? defaultRanks(cores) : counts('ranks', values.ranks);
  if (Math.max(...ranks) > cores) throw new Error(`--ranks: ${values.ranks}, but there are ${cores} cores`);
  const networks = values.networks ?? 'host,10gbit/1ms,1gbit/1ms';
  return {
    models: list('models', values.models, Object.keys(workloads)),
    // Efficiency is in terms of one rank.
    ranks: [...new Set([1, ...ranks])].sort((a, b) => a - b),
    networks: [...new Set(networks.split(','))].map(parseNetwork),
    isNetworkAskedFor: values.networks !== undefined,
    repeats: count('repeats', values.repeats),
    blocks: count('blocks', values.blocks),
    steps: values.steps === undefined ? undefined : count('steps', values.steps),
    python: values.python,
    name: values.name,
    help: values.help,
  };
}

/** The options of `npm run bench:deterministic`; as {@link parseOptions}. */
export function parseDeterministicOptions(args) {
  const known = {
    ...{ models: text('mlp,convnet,gpt'), ranks: text('1,2'), steps: text('20'), blocks: text('3') },
    ...{ name: text('deterministic'), help },
  };
  const values = parseValues(args, known, deterministicUsage);
  return {
    ...values,
    models: list('models', values.models, Object.keys(workloads)),
    ranks: counts('ranks', values.ranks),
    steps: count('steps', values.steps),
    blocks: count('blocks', values.blocks),
  };
}

/** The options of `npm run bench:collectives`; as {@link parseOptions}. */
export function parseCollectivesOptions(args) {
  const known = { ranks: text('2,4'), network: given, repeats: text('3'), python: given, help };
  const values = parseValues(args, known, collectivesUsage);
  return { ...values, ranks: counts('ranks', values.ranks), repeats: count('repeats', values.repeats) };
}

/** The options of `npm run bench:trackers`; as {@link parseOptions}. */
export function parseTrackersOptions(args) {
  const values = parseValues(args, { seconds: text('60'), help }, trackersUsage);
  return { ...values, seconds: count('seconds', values.seconds) };
}

function parseValues(args, options, usageText) {
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new Error(`${error.message}\n${usageText}`, { cause: error });
  }
}

function list(option, text, known) {
  return [...new Set(text.split(','))].map((name) => oneOf(option, name, known));
}

function oneOf(option, name, known) {
  if (known.includes(name)) return name;
  throw new Error(`--${option}: '${name}' is none of ${known.join(', ')}`);
}

function counts(option, text) {
  return [...new Set(text.split(','))].map((part) => count(option, part));
}

function count(option, text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new Error(`--${option}: '${text}' is no positive whole number`);
}
