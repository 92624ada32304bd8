import { AccError, isAccError, type Storage } from '@acc/contract';
import { basename } from '@acc/platform';
import { labelOf } from '@acc/kernels';
import { nativeDtypeOf } from '../format/dtypes.js';
import { MARKER } from '../format/manifest.js';
import { locationOf, type Location } from '../location.js';
import { parentOf } from '../storage/schemes.js';
import { openCheckpoint } from '../read/open.js';
import { readTensors } from '../read/read-tensors.js';
import { PARAMETERS } from './merge-weights.js';
import { MODEL_JSON, readModelJsonWeights } from './model-json.js';
import { openSafetensors, openSafetensorsIn, type StoredWeight } from './safetensors-weights.js';

/**
 * Opens stored weights: a safetensors file, a folder of them (for example from the Hugging Face
 * Hub), a tfjs `model.json`, or a checkpoint that `saveState` wrote.
 *
 * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_SAFETENSORS_INVALID`, `ACC_MODEL_JSON_INVALID`.
 */
export async function openWeights(path: string, storage?: Storage): Promise<StoredWeight[]> {
  try {
    if (/\.(?:safetensors|json)$/.test(path)) {
      return await openFile(locationOf(parentOf(path), storage), basename(path));
    }
    return await openFolder(locationOf(path, storage));
  } catch (error) {
    if (!isAccError(error, 'ACC_STORAGE_NOT_FOUND')) throw error;
    throw new AccError('ACC_WEIGHTS_NOT_FOUND', error.message, {
      help: 'Check the path, which is relative to the working directory. It names a *.safetensors file, a model.json, or a folder with one of them.',
      cause: error,
    });
  }
}

function openFile(location: Location, name: string): Promise<StoredWeight[]> {
  const isModelJson = name.endsWith('.json') && !name.endsWith('.index.json');
  return isModelJson ? readModelJsonWeights(location, name) : openSafetensors(location, name);
}

async function openFolder(location: Location): Promise<StoredWeight[]> {
  const { storage, prefix } = location;
  const names = (await storage.list(prefix)).map(({ key }) => key.slice(prefix.length));
  if (names.includes(MARKER)) return await openRun(location);
  // A model saved as safetensors also has a model.json, for its topology.
  const isTfjs = names.includes(MODEL_JSON) && !names.some((name) => /^[^/]*\.safetensors$/.test(name));
  return isTfjs ? await openFile(location, MODEL_JSON) : await openSafetensorsIn(location);
}

async function openRun(location: Location): Promise<StoredWeight[]> {
  const checkpoint = await openCheckpoint(location);
  const stored = Object.entries(checkpoint.index.tensors).filter(([name]) => name.startsWith(PARAMETERS));
  return stored.map(([name, { shape, dtype }]) => ({
    name: name.slice(PARAMETERS.length),
    shape,
    get dtype() {
      return labelOf(nativeDtypeOf(dtype, name));
    },
    async read(layer, box) {
      const held = box && { shape: box.sizes, shards: [{ ...box, name, shape, start: 0 }] };
      const [target] = await readTensors(checkpoint, [{ name, held }], layer);
      return target!.toTensor();
    },
  }));
}
