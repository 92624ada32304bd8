import { existsSync } from 'node:fs';
import { AccError, nearestName, parseOptions, showValue } from '@acc/contract';
import { readHubConfig } from './memory/hub-config.js';
import type { Architecture } from './memory/architecture.js';
import { MODEL_NAMES, MODELS, type ModelName } from './models.js';
import { modelSchema, type ModelSizesOptions } from './options.js';
import { readJsonFile } from './read-json-file.js';

/** A transformer, and the tokens of a sequence that it trains on. */
export interface Model extends Architecture {
  readonly sequence: number;
}

/**
 * @param given Sizes, the name of a published model, or the path of its config.json.
 * @param sequence Tokens of a sequence, in place of those of the model.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_PLAN_SHAPE`,
 * `ACC_MODEL_NOT_FOUND`, `ACC_MODEL_UNKNOWN`, `ACC_MODEL_CONFIG_INVALID`.
 */
export function modelOf(given: ModelSizesOptions | string, sequence?: number): Model {
  const model = typeof given === 'string' ? modelOfText(given) : modelOfSizes(given);
  if (sequence === undefined) return model;
  if (model.kind === 'gpt2') requirePositions(sequence, model.positions);
  return { ...model, sequence };
}

/** @throws AccError `ACC_PLAN_SHAPE` if the model's embedding of positions is too short. */
function requirePositions(sequence: number, positions: number): void {
  if (sequence <= positions) return;
  throw new AccError(
    'ACC_PLAN_SHAPE',
    `plan.sequence (${sequence}) is longer than the model, which has an embedding of ${positions} positions.`,
    { help: `Give plan.sequence as at most ${positions}.`, details: { sequence, positions } },
  );
}

/** A model by its name, or by the path of its file, which goes before a name. */
function modelOfText(given: string): Model {
  if (existsSync(given)) return modelOfFile(given);
  if (Object.hasOwn(MODELS, given)) {
    return modelOfSizes(MODELS[given as ModelName]);
  }
  if (/[/\\]|\.json$/.test(given)) return modelOfFile(given);
  const nearest = nearestName(given, MODEL_NAMES);
  throw new AccError(
    'ACC_MODEL_NOT_FOUND',
    `There is no model ${showValue(given)}, and no file of that name.`,
    {
      help: `${nearest ? `Did you mean '${nearest}'? ` : ''}Give the path of a config.json, or one of: ${MODEL_NAMES.join(', ')}.`,
      details: { given, nearest, known: MODEL_NAMES },
    },
  );
}

/** `findPlans` and `predict` take sizes, and `acc plan` options. */
const SIZES_INSTEAD = 'give the sizes of the model, as acc plan does by --layers, --hidden and --heads';

function modelOfFile(given: string): Model {
  const { path, json } = readJsonFile(given, 'config.json', {
    missing: 'ACC_MODEL_NOT_FOUND',
    invalid: 'ACC_MODEL_CONFIG_INVALID',
  });
  const architecture = readHubConfig(json, path, SIZES_INSTEAD);
  return { ...architecture, sequence: architecture.positions };
}

function modelOfSizes(given: ModelSizesOptions): Model {
  const { layers, hidden, heads, vocabulary, sequence, gated, ...rest } = parseOptions(
    'model',
    modelSchema,
    given,
  );
  const { kvHeads = heads, ffn = gated ? gatedWidth(hidden) : 4 * hidden } = rest;
  requireDivides('model.hidden', hidden, 'model.heads', heads);
  requireDivides('model.heads', heads, 'model.kvHeads', kvHeads);
  return {
    ...{ kind: gated ? 'llama' : 'gpt2', layers, hidden, heads, kvHeads, headDim: hidden / heads },
    ...{ intermediate: ffn, vocabulary, positions: sequence, sequence },
    isTied: !gated,
    hasAttentionBias: !gated,
    hasMlpBias: !gated,
  };
}

/** The inner width of a gated MLP in Llama: a multiple of 256. */
const gatedWidth = (hidden: number): number => 256 * Math.ceil((8 * hidden) / 3 / 256);

/** @throws AccError `ACC_PLAN_SHAPE` if `by` does not divide `size`. */
export function requireDivides(name: string, size: number, byName: string, by: number): void {
  if (size % by === 0) return;
  const near = [1, 2, 4, 8, 16, 32, 64, 128].filter((each) => size % each === 0);
  throw new AccError('ACC_PLAN_SHAPE', `${byName} (${by}) does not divide ${name} (${size}).`, {
    help: `Give ${byName} as a divisor of ${size}, such as ${near.at(-1)}.`,
    details: { [name]: size, [byName]: by },
  });
}
