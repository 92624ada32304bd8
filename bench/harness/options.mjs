import { parseArgs } from 'node:util';
import { parseNetwork } from '../network/shapes.mjs';
import { defaultRanks } from '../scaling/plan.mjs';
import { workloads } from './workloads.mjs';

const SIDES = ['ours', 'theirs'];
const DEVICES = ['cpu', 'cuda'];
const PRECISIONS = ['fp32', 'bf16', 'fp16'];
const MODEL_LIST = Object.keys(workloads).join(', ');
/** The fused GPT is a way to run the one in plain operators. */
const COMPILED = Object.keys(workloads).filter((model) => model !== 'gpt');
const COMPILED_LIST = COMPILED.join(', ');
const precisionUsage = `--precision P   one of ${PRECISIONS.join(', ')}; 16 bits mean mixed precision on both sides (default: fp32)`;
const pythonUsage = `--python PATH   a Python with torch and accelerate (default: bench/.venv, which is created if necessary)`;

export const usage = `node bench/run.mjs [options]
  --models a,b    some of ${MODEL_LIST} (default: all)
  --ranks 1,2     numbers of processes (default: 1,2; on cuda 1)
  --threads 1,2   numbers of threads of each rank (default: 1); cases that need more cores than there are are left out
  --device NAME   one of ${DEVICES.join(', ')} (default: cpu)
  ${precisionUsage}
  --repeats N     the number of processes for each side, model and number of ranks, in turn (default: 5)
  --blocks N      the number of timed blocks in each process (default: 3)
  --steps N       the number of steps in each block (default: that of the model in workloads.json)
  --sides a,b     ours, theirs or both (default: both); one side alone is printed, but not recorded
  ${pythonUsage}
  --compile       our side uses accelerator.compile, which records and replays steps; theirs stays eager
  --name NAME     the name of the files in bench/results (default: the date and the CPU)
  --help          print this text`;

export const profileUsage = `node bench/profile.mjs [options]
  --models a,b    some of ${MODEL_LIST} (default: all)
  --threads N     the number of threads (default: 1)
  ${precisionUsage}
  --steps N       the number of profiled steps (default: that of the model in workloads.json)
  ${pythonUsage}
  --name NAME     the name of the file in bench/results, to which -profile.md is added (default: the date and the CPU)
  --help          print this text`;

export const memoryUsage = `node bench/memory.mjs [options]
  --models a,b    some of ${MODEL_LIST} (default: all)
  ${precisionUsage}
  ${pythonUsage}
  --name NAME     the name of the file in bench/results (default: memory, or memory-bf16)
  --help          print this text`;

export const compileUsage = `node bench/compile.mjs [options]
  --models a,b       some of ${COMPILED_LIST} (default: all)
  --precisions a,b   some of fp32, bf16 (default: both)
  --threads 1,2      numbers of threads (default: 1,2)
  --repeats N        the number of processes for each way to run a model, in turn (default: 3)
  --blocks N         the number of timed blocks in each process (default: 3)
  --steps N          the number of steps in each block (default: that of the model)
  --keep             the processes of an earlier run with this name stay in the report, and those of this run are added
  ${pythonUsage}
  --name NAME        the name of the files in bench/results (default: compile)
  --help             print this text`;

export const checkpointingUsage = `node bench/checkpointing.mjs [options]
  --layers N      the number of layers of the GPT (default: 24)
  --repeats N     the number of processes for each side, with and without checkpointing, in turn (default: 3)
  --threads N     the number of threads (default: 1)
  ${precisionUsage}
  ${pythonUsage}
  --name NAME     the name of the file in bench/results (default: checkpointing)
  --help          print this text`;

export const shardingUsage = `node bench/sharding.mjs [options]
  --model NAME    large: a GPT of 110 M parameters; small: the GPT of the other measurements (default: large)
  --ranks N       the number of processes, of one thread each (default: 2)
  --repeats N     the number of processes for each strategy and side, in turn (default: 3)
  ${precisionUsage}
  ${pythonUsage}
  --name NAME     the name of the file in bench/results (default: sharding-large, or that of the model and precision)
  --help          print this text`;

export const shardingMemoryUsage = `node bench/sharding-memory.mjs [options]
  --model NAME    large: a GPT of 110 M parameters; small: the GPT of the other measurements (default: large)
  --ranks 1,2     numbers of processes, of one thread each (default: 1,2,4)
  --name NAME     the name of the files in bench/results (default: sharding-memory)
  --help          print this text`;

export const checkpointUsage = `node bench/checkpoint.mjs [options]
  --folder PATH   the folder for checkpoints, which is deleted afterwards (default: bench/.checkpoints)
  --repeats N     the number of repeats of each measurement, in turn (default: 5)
  ${pythonUsage}
  --name NAME     the name of the file in bench/results (default: checkpoint)
  --help          print this text`;

const LEARNERS = ['convnet', 'gpt'];

export const convergenceUsage = `node bench/convergence.mjs [options]
  --models a,b    some of ${LEARNERS.join(', ')} (default: all)
  --steps N       the number of training steps (default: 300)
  --threads N     the number of threads (default: 1)
  --name NAME     the name of the file in bench/results (default: convergence)
  --help          print this text`;

export const scalingUsage = `node bench/scaling.mjs [options]
  --models a,b    some of ${MODEL_LIST} (default: mlp,convnet,gpt)
  --ranks 1,2     numbers of processes, at most the number of cores (default: 1, 2, 4, … and the number of cores)
  --networks a,b  host: this machine itself; or rate/delay, for example 200mbit/20ms: ranks in network namespaces,
                  which need Linux, root and iproute2 (default: host,10gbit/1ms,1gbit/1ms; without namespaces: host)
  --repeats N     the number of processes for each side and case, in turn (default: 2)
  --blocks N      the number of timed blocks in each process (default: 2)
  --steps N       the number of steps in each block (default: that of the model)
  ${pythonUsage}
  --name NAME     the name of the files in bench/results (default: scaling)
  --help          print this text`;

export const collectivesUsage = `node bench/collectives.mjs [options]
  --ranks 2,4     numbers of processes on this host (default: 2,4)
  --network RATE  rate/delay between two hosts, which are network namespaces (default: 10gbit/1ms; left out without namespaces)
  --repeats N     the number of processes for each side and case, in turn (default: 3)
  ${pythonUsage}
  --help          print this text`;

export const trackersUsage = `node bench/trackers.mjs [options]
  --seconds N     the seconds to spend logging (default: 60)
  --help          print this text`;

export const deterministicUsage = `node bench/deterministic.mjs [options]
  --models a,b    some of ${MODEL_LIST} (default: mlp,convnet,gpt)
  --ranks 1,2     numbers of processes, powers of two (default: 1,2)
  --steps N       the number of steps in each block, and of warm-up steps (default: 20)
  --blocks N      the number of timed blocks of each kind (default: 3)
  --name NAME     the name of the file in bench/results (default: deterministic)
  --help          print this text`;

export const dataUsage = `node bench/data.mjs [options]
  --cases a,b     some of columns, samples, images, tokens (default: all)
  --repeats N     the number of processes for each side and case, in turn (default: 3)
  ${pythonUsage}
  --name NAME     the name of the file in bench/results (default: data)
  --help          print this text`;

export const tensorUsage = `npm run bench:tensor -- [options]
  --cases 'a;b'   some of gpt; gpt, along the sequence; gpt, 2 sequences; mlp (default: all)
  --repeats N     the number of processes for each side and number of ranks, in turn (default: 3)
  ${pythonUsage}
  --help          print this text`;

export const pipelineUsage = `npm run bench:pipeline -- [options]
  --repeats N     the number of processes for each side, in turn (default: 3)
  --bubbles       measures where the idle time of ours comes from, alone
  ${pythonUsage}
  --help          print this text`;

const text = (value) => ({ type: 'string', default: value });
const given = { type: 'string' };
const help = { type: 'boolean', default: false };
const ALL_MODELS = Object.keys(workloads).join(',');

/**
 * Parses the options of the bench and fills in the defaults.
 *
 * @throws Error that states what is wrong.
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

/** The options of `npm run bench:profile`, see {@link parseOptions}. */
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

/** The options of `npm run bench:memory`, see {@link parseOptions}. */
export function parseMemoryOptions(args) {
  const known = { models: text(ALL_MODELS), precision: text('fp32'), python: given, name: given, help };
  const values = parseValues(args, known, memoryUsage);
  const precision = oneOf('precision', values.precision, PRECISIONS);
  const name = values.name ?? (precision === 'fp32' ? 'memory' : `memory-${precision}`);
  return { ...values, precision, name, models: list('models', values.models, Object.keys(workloads)) };
}

/** The options of `npm run bench:compile`, see {@link parseOptions}. */
export function parseCompileOptions(args) {
  const known = {
    ...{ models: text(COMPILED.join(',')), precisions: text('fp32,bf16'), threads: text('1,2') },
    ...{ repeats: text('3'), blocks: text('3'), steps: given, keep: { type: 'boolean', default: false } },
    ...{ python: given, name: text('compile'), help },
  };
  const values = parseValues(args, known, compileUsage);
  return {
    ...values,
    models: list('models', values.models, COMPILED),
    precisions: list('precisions', values.precisions, ['fp32', 'bf16']),
    threads: counts('threads', values.threads),
    repeats: count('repeats', values.repeats),
    blocks: count('blocks', values.blocks),
    steps: values.steps === undefined ? undefined : count('steps', values.steps),
  };
}

/** The options of `npm run bench:convergence`, see {@link parseOptions}. */
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

/** The options of `npm run bench:checkpointing`, see {@link parseOptions}. */
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

/** The options of `npm run bench:sharding`, see {@link parseOptions}. */
export function parseShardingOptions(args) {
  const known = {
    ...{ model: text('large'), ranks: text('2'), repeats: text('3'), precision: text('fp32') },
    ...{ python: given, name: given, help },
  };
  const values = parseValues(args, known, shardingUsage);
  const model = oneOf('model', values.model, ['large', 'small']);
  const precision = oneOf('precision', values.precision, PRECISIONS);
  return {
    ...values,
    model,
    precision,
    ranks: count('ranks', values.ranks),
    repeats: count('repeats', values.repeats),
    name: values.name ?? ['sharding', model, ...(precision === 'fp32' ? [] : [precision])].join('-'),
  };
}

/** The options of `npm run bench:sharding-memory`, see {@link parseOptions}. */
export function parseShardingMemoryOptions(args) {
  const known = { model: text('large'), ranks: text('1,2,4'), name: text('sharding-memory'), help };
  const values = parseValues(args, known, shardingMemoryUsage);
  const model = oneOf('model', values.model, ['large', 'small']);
  return { ...values, model, ranks: counts('ranks', values.ranks) };
}

/** The options of `npm run bench:checkpoint`, see {@link parseOptions}. */
export function parseCheckpointOptions(args) {
  const known = { folder: given, repeats: text('5'), python: given, name: text('checkpoint'), help };
  const values = parseValues(args, known, checkpointUsage);
  return { ...values, repeats: count('repeats', values.repeats) };
}

/**
 * The options of `npm run bench:scaling` for a machine with this number of cores, see {@link
 * parseOptions}.
 */
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
    // Efficiency is relative to one rank.
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

/** The options of `npm run bench:deterministic`, see {@link parseOptions}. */
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

/** The options of `npm run bench:data`, see {@link parseOptions}. */
export function parseDataOptions(args, cases) {
  const known = { cases: text(cases.join(',')), repeats: text('3'), python: given, name: text('data'), help };
  const values = parseValues(args, known, dataUsage);
  return { ...values, cases: list('cases', values.cases, cases), repeats: count('repeats', values.repeats) };
}

/** The options of `npm run bench:collectives`, see {@link parseOptions}. */
export function parseCollectivesOptions(args) {
  const known = { ranks: text('2,4'), network: given, repeats: text('3'), python: given, help };
  const values = parseValues(args, known, collectivesUsage);
  return { ...values, ranks: counts('ranks', values.ranks), repeats: count('repeats', values.repeats) };
}

/** The options of `npm run bench:trackers`, see {@link parseOptions}. */
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
  throw new Error(`--${option}: '${name}' is not one of ${known.join(', ')}`);
}

function counts(option, text) {
  return [...new Set(text.split(','))].map((part) => count(option, part));
}

function count(option, text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new Error(`--${option}: '${text}' is not a positive whole number`);
}
