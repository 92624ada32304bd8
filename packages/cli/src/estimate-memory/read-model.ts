import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AccError, isAccError, jsonMistake, type JsonMistake } from '@acc/contract';
import {
  isKnownKind,
  readHubConfig,
  sizesOf,
  tensorsOf,
  type Architecture,
  type ModelSizes,
  type SizedTensor,
} from '@acc/planner/memory';
import { parametersAmong, readModelJson } from './stored-model.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads the sizes of a model. Shapes are read, never weights.
 *
 * @param path A config.json of the Hub, a model.json of tfjs, a safetensors file or its index, or a
 * folder with any of these. A folder with weights and a config.json has the parameters of the
 * weights and the architecture of the config.
 * @throws AccError `ACC_MODEL_NOT_FOUND`, `ACC_MODEL_UNKNOWN`, `ACC_MODEL_CONFIG_INVALID`,
 * `ACC_MODEL_JSON_INVALID`, `ACC_SAFETENSORS_INVALID`, `ACC_WEIGHTS_NOT_FOUND`.
 */
export async function readModel(path: string): Promise<ModelSizes> {
  const model = await readAny(path);
  if (model.parameters > 0) return model;
  throw new AccError('ACC_MODEL_UNKNOWN', `${path} holds no parameters.`, {
    help: 'Give the file or folder with the weights of the model.',
  });
}

async function readAny(path: string): Promise<ModelSizes> {
  if (await isFolder(path)) return readFolder(path);
  if (path.endsWith('.safetensors') || path.endsWith('.index.json')) return ofWeights(path, undefined);
  if (path.endsWith('.json')) return readJsonModel(path);
  throw new AccError('ACC_MODEL_UNKNOWN', `${path} is not a file of a known kind.`, {
    help: 'Give a config.json, a model.json, a .safetensors file, or a folder with one of them.',
  });
}

async function readFolder(folder: string): Promise<ModelSizes> {
  const config = await readIfPresent(join(folder, 'config.json'));
  const architecture =
    config && isKnownKind(config) ? readHubConfig(config, join(folder, 'config.json')) : undefined;
  try {
    return await ofFolder(folder, architecture);
  } catch (error) {
    if (!config || !isAccError(error, 'ACC_WEIGHTS_NOT_FOUND')) throw error;
    return ofArchitecture(readHubConfig(config, join(folder, 'config.json')));
  }
}

async function ofFolder(folder: string, architecture: Architecture | undefined): Promise<ModelSizes> {
  const model = await readIfPresent(join(folder, 'model.json'));
  // A model saved as safetensors also has a model.json, which then lists no weights.
  if (model?.weightsManifest) return sizesOf(readModelJson(model, join(folder, 'model.json')), architecture);
  return ofWeights(folder, architecture);
}

async function ofWeights(path: string, architecture: Architecture | undefined): Promise<ModelSizes> {
  const { openWeights } = await import('@acc/checkpoint');
  const parameters = parametersAmong(await openWeights(path));
  return sizesOf(architecture?.isTied ? withoutHead(parameters) : parameters, architecture);
}

/** A tied head is the token embedding. Some files hold it twice. */
const withoutHead = (tensors: readonly SizedTensor[]): SizedTensor[] =>
  tensors.filter(({ name }) => name !== 'lm_head.weight');

async function readJsonModel(path: string): Promise<ModelSizes> {
  const json = await readJson(path);
  if ('model_type' in json) return ofArchitecture(readHubConfig(json, path));
  if ('weightsManifest' in json) return sizesOf(readModelJson(json, path), undefined);
  // The topology of a model whose weights are safetensors files beside it.
  if ('modelTopology' in json) return readFolder(join(path, '..'));
  throw new AccError('ACC_MODEL_UNKNOWN', `${path} is neither a config.json of the Hub nor a model.json.`, {
    help: 'The first has model_type; the second has modelTopology and weightsManifest.',
    details: { keys: Object.keys(json) },
  });
}

const ofArchitecture = (architecture: Architecture): ModelSizes =>
  sizesOf(tensorsOf(architecture), architecture);

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (cause) {
    throw new AccError('ACC_MODEL_NOT_FOUND', `${path} does not exist.`, {
      help: 'Give the path of a file or folder on this machine. Names of models on the Hub are not looked up.',
      cause,
    });
  }
}

async function readIfPresent(path: string): Promise<Json | undefined> {
  try {
    return await readJson(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function readJson(path: string): Promise<Json> {
  const text = await readFile(path, 'utf8');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw notReadable(path, { ...mistakeIn(text, cause), cause });
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Json;
  throw notReadable(path, {
    problem: 'is not a JSON object.',
    help: 'Give a file that begins with { and ends with }.',
  });
}

function mistakeIn(text: string, cause: unknown): JsonMistake {
  const { problem, help } = jsonMistake(text, cause);
  return { problem: `is not valid JSON: ${problem}`, help };
}

function notReadable(
  path: string,
  { problem, help, cause }: JsonMistake & { readonly cause?: unknown },
): AccError {
  const code = basename(path) === 'model.json' ? 'ACC_MODEL_JSON_INVALID' : 'ACC_MODEL_CONFIG_INVALID';
  return new AccError(code, `${path} ${problem}`, { help, cause });
}
