import { parseArgs } from 'node:util';
import { workloads } from './workloads.mjs';

const SIDES = ['ours', 'theirs'];
const DEVICES = ['cpu', 'cuda'];

export const usage = `node bench/run.mjs [options]
  --models a,b    of ${Object.keys(workloads).join(', ')}; default all
  --ranks 1,2     numbers of processes; default 1,2, and on cuda 1
  --threads 1,2   threads of each rank; default 1. What needs more cores than there are is left out
  --device NAME   of ${DEVICES.join(', ')}; default cpu
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
  --steps N       profiled steps; default is the model's in workloads.json
  --python PATH   a Python with torch and accelerate; default is bench/.venv, made when it is not there
  --name NAME     of the file in bench/results, which ends in -profile.md; default made of the date and the CPU
  --help          this text`;

export const memoryUsage = `node bench/memory.mjs [options]
  --models a,b    of ${Object.keys(workloads).join(', ')}; default all
  --python PATH   a Python with torch and accelerate; default is bench/.venv, made when it is not there
  --name NAME     of the file in bench/results; default memory
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
    steps: given,
    python: given,
    name: given,
    help,
  };
  const values = parseValues(args, known, profileUsage);
  return {
    models: list('models', values.models, Object.keys(workloads)),
    threads: count('threads', values.threads),
    steps: values.steps === undefined ? undefined : count('steps', values.steps),
    python: values.python,
    name: values.name,
    help: values.help,
  };
}

/** The options of `npm run bench:memory`; as {@link parseOptions}. */
export function parseMemoryOptions(args) {
  const known = { models: text(ALL_MODELS), python: given, name: text('memory'), help };
  const values = parseValues(args, known, memoryUsage);
  return { ...values, models: list('models', values.models, Object.keys(workloads)) };
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
