import { backend, clone, getBackend, io, slice, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, isRecord, parseJson, type Storage } from '@acc/contract';
import { baseName, formatIn, kernelLayerOf } from '@acc/kernels';
import { locationOf, type Location } from '../location.js';
import { openSafetensorsIn, type StoredWeight } from './safetensors-weights.js';
import { invalid, parseManifest, requireBytes } from './weights-manifest.js';

/** The file in which tfjs stores the topology and the paths of the weight files. */
export const MODEL_JSON = 'model.json';
/** The shard size that tfjs's converter uses. */
const SHARD_BYTES = 4 * 1024 * 1024;

/**
 * An IO handler for `model.save` and `tf.loadLayersModel`. In Node.js tfjs has none without its own
 * addon. The model is a folder with `model.json` and weight files beside it. The handler also loads
 * folders that `saveModel` wrote with safetensors.
 *
 * @param path The folder, or the path of the `model.json`, which may have another name.
 */
export function modelFiles(path: string, storage?: Storage): io.IOHandler {
  const [, folder, name] = /^(.*?)([^/]*\.json)?$/s.exec(path)!;
  return modelFilesAt(locationOf(folder || '.', storage), name);
}

/** As {@link modelFiles}, in a location. @param name The name of the `model.json`. */
export function modelFilesAt(location: Location, name = MODEL_JSON): io.IOHandler {
  return {
    save: (artifacts) => saveArtifacts(location, name, artifacts),
    load: () => loadArtifacts(location, name),
  };
}

async function saveArtifacts(
  { storage, prefix }: Location,
  name: string,
  { weightData, weightSpecs = [], ...rest }: io.ModelArtifacts,
): Promise<io.SaveResult> {
  const shards = weightData === undefined ? [] : shardsOf(new io.CompositeArrayBuffer(weightData));
  const paths = shards.map((_, i) => `group1-shard${i + 1}of${shards.length}.bin`);
  for (const [i, shard] of shards.entries()) await storage.put(prefix + paths[i]!, new Uint8Array(shard));
  await writeModelJson(
    { storage, prefix },
    { ...rest, weightsManifest: [{ paths, weights: weightSpecs }] },
    name,
  );
  return { modelArtifactsInfo: io.getModelArtifactsInfoForJSON({ ...rest, weightSpecs, weightData }) };
}

export function writeModelJson(
  { storage, prefix }: Location,
  json: object,
  name = MODEL_JSON,
): Promise<void> {
  return storage.put(prefix + name, new TextEncoder().encode(JSON.stringify(json)));
}

function shardsOf(data: io.CompositeArrayBuffer): ArrayBuffer[] {
  const count = Math.max(1, Math.ceil(data.byteLength / SHARD_BYTES));
  return Array.from({ length: count }, (_, i) => data.slice(i * SHARD_BYTES, (i + 1) * SHARD_BYTES));
}

async function loadArtifacts(location: Location, name: string): Promise<io.ModelArtifacts> {
  const json = await readJson(location, name);
  const where = whereOf(location, name);
  requireFloats(io.getWeightSpecs(json.weightsManifest ?? []));
  const artifacts = await io.getModelArtifactsForJSON(json, (manifest) =>
    readManifest(location, manifest, where),
  );
  return json.weightsManifest ? artifacts : { ...artifacts, ...(await readSafetensors(location)) };
}

/** Reads the weights from the safetensors files beside a `model.json` that lists no weights. */
async function readSafetensors(
  location: Location,
): Promise<Pick<io.ModelArtifacts, 'weightData' | 'weightSpecs'>> {
  const { state } = kernelLayerOf(getBackend(), backend());
  const stored = await openSafetensorsIn(location);
  requireFloats(stored);
  const tensors = await Promise.all(
    stored.map(async (weight) => ({ name: weight.name, tensor: await weight.read(state) })),
  );
  const { data, specs } = await io.encodeWeights(tensors);
  for (const { tensor } of tensors) tensor.dispose();
  return { weightData: data, weightSpecs: specs };
}

/** tfjs has no variables for the records of packed weights. */
function requireFloats(stored: readonly { readonly name: string }[]): void {
  const records = stored.find(({ name }) => formatIn(name) !== undefined);
  if (!records) return;
  const name = baseName(records.name);
  throw new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `'${name}' is stored as ${formatIn(records.name)}, and tf.loadLayersModel loads float32 weights.`,
    {
      help: 'Build the model, quantize it the same way, and call await accelerator.loadModel(model, folder).',
      details: { name },
    },
  );
}

const whereOf = ({ storage, prefix }: Location, name: string) => `${storage.location}/${prefix}${name}`;

async function readJson(location: Location, name: string): Promise<io.ModelJSON> {
  const bytes = await location.storage.get(location.prefix + name);
  const where = whereOf(location, name);
  let json: unknown;
  try {
    json = parseJson(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw invalid(where, `it cannot be read as JSON: ${(cause as Error).message}`, cause);
  }
  if (!isRecord(json)) throw invalid(where, 'it is not an object');
  const { weightsManifest: given } = json;
  return { ...json, ...(given != null && { weightsManifest: parseManifest(given, where) }) } as io.ModelJSON;
}

async function readManifest(
  { storage, prefix }: Location,
  manifest: io.WeightsManifestConfig,
  where: string,
): Promise<[io.WeightsManifestEntry[], ArrayBuffer[]]> {
  const paths = manifest.flatMap((group) => group.paths);
  const shards = await Promise.all(paths.map((path) => storage.get(prefix + path)));
  const buffers = shards.map(({ buffer, byteOffset, byteLength }) =>
    buffer.slice(byteOffset, byteOffset + byteLength),
  );
  const specs = io.getWeightSpecs(manifest);
  const bytes = buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
  requireBytes(specs, bytes, where);
  return [specs, buffers as ArrayBuffer[]];
}

/**
 * The weights of a `model.json`. Quantized weights are dequantized. The first read reads all of
 * them.
 */
export async function readModelJsonWeights(location: Location, name: string): Promise<StoredWeight[]> {
  const json = await readJson(location, name);
  const specs = io.getWeightSpecs(json.weightsManifest ?? []);
  let reading: Promise<Record<string, Tensor>> | undefined;
  const readAll = async () => {
    const where = whereOf(location, name);
    const [entries, data] = await readManifest(location, json.weightsManifest, where);
    try {
      return io.decodeWeights(data, entries);
    } catch (cause) {
      throw invalid(where, `its weights cannot be decoded: ${(cause as Error).message}`, cause);
    }
  };
  return specs.map(({ name: weight, shape, dtype }) => ({
    name: weight,
    shape,
    dtype,
    async read(_layer, box) {
      const full = (await (reading ??= readAll()))[weight]!;
      return box ? slice(full, [...box.offset], [...box.sizes]) : clone(full);
    },
    async release() {
      const read = await reading;
      reading = undefined;
      for (const full of Object.values(read ?? {})) full.dispose();
    },
  }));
}
