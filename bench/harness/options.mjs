import { parseArgs } from 'node:util';
import { workloads } from './workloads.mjs';

const SIDES = ['ours', 'theirs'];

export const usage = `node bench/run.mjs [options]
  --models a,b    of ${Object.keys(workloads).join(', ')}; default all
  --ranks 1,2     numbers of processes; default 1,2
  --threads N     threads of each rank; default 1
  --repeats N     processes started for each side, model and number of ranks, in turn; default 5
  --blocks N      timed blocks in each process; default 3
  --steps N       steps in each block; default is the model's in workloads.json
  --sides a,b     of ours, theirs; default both. One side alone is printed, not recorded
  --name NAME     of the files in bench/results; default made of the date and the CPU
  --help          this text`;

/**
 * The bench's options from the command line, complete.
 *
 * @throws Error that says what is wrong and lists the options.
 */
export function parseOptions(args) {
  const values = parseValues(args);
  return {
    models: list('models', values.models, Object.keys(workloads)),
    ranks: [...new Set(values.ranks.split(','))].map((text) => count('ranks', text)),
    threads: count('threads', values.threads),
    repeats: count('repeats', values.repeats),
    blocks: count('blocks', values.blocks),
    steps: values.steps === undefined ? undefined : count('steps', values.steps),
    sides: list('sides', values.sides, SIDES),
    name: values.name,
    help: values.help,
  };
}

function parseValues(args) {
  const text = (value) => ({ type: 'string', default: value });
  const options = {
    models: text(Object.keys(workloads).join(',')),
    ranks: text('1,2'),
    threads: text('1'),
    repeats: text('5'),
    blocks: text('3'),
    steps: { type: 'string' },
    sides: text(SIDES.join(',')),
    name: { type: 'string' },
    help: { type: 'boolean', default: false },
  };
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new Error(`${error.message}\n${usage}`, { cause: error });
  }
}

function list(option, text, known) {
  const names = [...new Set(text.split(','))];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new Error(`--${option}: '${unknown}' is none of ${known.join(', ')}\n${usage}`);
}

function count(option, text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new Error(`--${option}: '${text}' is no positive whole number\n${usage}`);
}
