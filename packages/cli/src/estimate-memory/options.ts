import { AccError, nearestName } from '@acc/contract';
import {
  OPTIMIZER_NAMES,
  PACKING_NAMES,
  type Architecture,
  type BatchSizes,
  type EstimateOptions,
  type ModelSizes,
  type OptimizerName,
  type Precision,
  type StateBits,
} from '@acc/planner/memory';

/** The options of the command, as commander gives them. */
export interface EstimateFlags {
  readonly parameters?: number;
  readonly layers?: number;
  readonly hidden?: number;
  readonly heads?: number;
  readonly vocab?: number;
  readonly batch?: number;
  readonly sequence?: number;
  readonly optimizer: string;
  readonly stateBits?: number;
  readonly mixedPrecision: readonly string[];
  readonly ranks: readonly number[];
  readonly ranksPerHost?: number;
}

const SIZE_NAMES = ['layers', 'hidden', 'heads', 'vocab'] as const;
const PRECISIONS: Readonly<Record<string, Precision>> = {
  no: 'float32',
  bf16: 'bf16',
  fp16: 'fp16',
  // Activations and weights are those of bf16. What is rounded to 8 bits lasts as long as a product.
  int8: 'bf16',
  fp8: 'bf16',
};

/** @throws AccError `ACC_BAD_OPTION`, `ACC_MISSING_OPTION`. */
export function estimateOptions(flags: EstimateFlags, model: ModelSizes): EstimateOptions {
  const precisions = flags.mixedPrecision.map((name) => {
    const precision = PRECISIONS[name];
    if (precision) return precision;
    throw new AccError('ACC_BAD_OPTION', `--mixed-precision: unknown precision '${name}'.`, {
      help: `Known: ${Object.keys(PRECISIONS).join(', ')}, separated by commas.`,
    });
  });
  const small = flags.ranks.find((count) => count < 2);
  if (small !== undefined) {
    throw new AccError('ACC_BAD_OPTION', `--ranks: ${small} is less than 2.`, {
      help: 'The estimate for one process is always shown.',
    });
  }
  const optimizer = requireOptimizer(flags.optimizer);
  return {
    optimizer,
    stateBits: stateBitsOf(optimizer, flags.stateBits),
    precisions,
    ranks: flags.ranks,
    ranksPerHost: flags.ranksPerHost,
    batch: batchSizes(flags, model.architecture),
  };
}

function requireOptimizer(name: string): OptimizerName {
  const known = OPTIMIZER_NAMES.find((each) => each === name);
  if (known) return known;
  const nearest = nearestName(name, OPTIMIZER_NAMES);
  throw new AccError('ACC_BAD_OPTION', `--optimizer: unknown optimizer '${name}'.`, {
    help: `${nearest ? `Did you mean ${nearest}? ` : ''}Known: ${OPTIMIZER_NAMES.join(', ')}.`,
    details: { name, nearest },
  });
}

/** @throws AccError `ACC_BAD_OPTION` for other bits, and for an optimizer that packs no state. */
function stateBitsOf(optimizer: OptimizerName, bits = 32): StateBits {
  if (bits !== 32 && bits !== 8 && bits !== 4) {
    throw new AccError('ACC_BAD_OPTION', `--state-bits is ${bits}.`, { help: 'Known: 32, 8, 4.' });
  }
  if (bits === 32 || PACKING_NAMES.includes(optimizer)) return bits;
  throw new AccError('ACC_BAD_OPTION', `--state-bits: the state of ${optimizer} is float32.`, {
    help: `Optimizers whose state may be packed: ${PACKING_NAMES.join(', ')}; momentum is also sgdw with momentum.`,
  });
}

function batchSizes(
  { batch = 1, sequence }: EstimateFlags,
  architecture: Architecture | undefined,
): BatchSizes | undefined {
  if (!architecture) return undefined;
  const { positions } = architecture;
  if (sequence !== undefined && sequence > positions) {
    throw new AccError('ACC_BAD_OPTION', `--sequence ${sequence}: the model has ${positions} positions.`, {
      help: `Give at most ${positions}.`,
    });
  }
  return { batch, sequence: sequence ?? positions };
}

/**
 * The model of `--parameters`. With the sizes of a transformer it is taken for a GPT-2, whose head
 * is tied if that fits the number of parameters better.
 *
 * @throws AccError `ACC_BAD_OPTION`, `ACC_MISSING_OPTION`.
 */
export function modelOfNumbers(parameters: number, flags: EstimateFlags): ModelSizes {
  const architecture = architectureOf(parameters, flags);
  const model = { parameters, trainable: parameters, largestTensor: undefined, factored: undefined };
  if (!architecture) return { ...model, layerSizes: undefined, architecture };
  const { hidden, vocabulary, layers, isTied } = architecture;
  const embedding = vocabulary * hidden;
  const rest = parameters - (isTied ? 1 : 2) * embedding;
  if (rest <= 0) {
    throw new AccError(
      'ACC_BAD_OPTION',
      `--parameters ${parameters}: the embedding alone has ${embedding}, which is --vocab × --hidden.`,
      { help: 'Give the number of all parameters.' },
    );
  }
  const layerSizes = [
    embedding,
    ...Array<number>(layers).fill(Math.ceil(rest / layers)),
    ...(isTied ? [] : [embedding]),
  ];
  return { ...model, layerSizes, architecture };
}

function architectureOf(parameters: number, flags: EstimateFlags): Architecture | undefined {
  const given = SIZE_NAMES.filter((name) => flags[name] !== undefined);
  if (given.length === 0) return undefined;
  const { layers, hidden, heads, vocab: vocabulary, sequence } = flags;
  if (!layers || !hidden || !heads || !vocabulary || !sequence) {
    const missing = [...SIZE_NAMES, 'sequence' as const].filter((name) => flags[name] === undefined);
    throw new AccError('ACC_MISSING_OPTION', `--${given[0]} needs --${missing.join(', --')} too.`, {
      help: 'Activations depend on all of them.',
      details: { missing },
    });
  }
  if (hidden % heads !== 0) {
    throw new AccError('ACC_BAD_OPTION', `--heads ${heads} does not divide --hidden ${hidden}.`, {
      help: 'Give a number of heads that divides the hidden size.',
    });
  }
  const embedding = vocabulary * hidden;
  const untied = 2 * embedding + layers * 12 * hidden ** 2;
  return {
    ...{ kind: 'gpt2', layers, hidden, heads, kvHeads: heads, headDim: hidden / heads },
    ...{ intermediate: 4 * hidden, vocabulary, positions: sequence },
    isTied: parameters < untied - embedding / 2,
    hasAttentionBias: true,
    hasMlpBias: true,
  };
}

/** @throws AccError `ACC_USAGE` if numbers are given with a model, or neither. */
export function requireOneModel(path: string | undefined, flags: EstimateFlags): void {
  const numbers = (['parameters', ...SIZE_NAMES] as const).filter((name) => flags[name] !== undefined);
  if (path !== undefined && numbers.length > 0) {
    throw new AccError('ACC_USAGE', `--${numbers[0]} is for estimates without a model.`, {
      help: `Leave out --${numbers.join(', --')}, or the model.`,
    });
  }
  if (path === undefined && flags.parameters === undefined) {
    throw new AccError('ACC_USAGE', 'Neither a model nor --parameters is given.', {
      help: 'npx acc estimate-memory --help lists the arguments and options.',
    });
  }
}
