import { locationOf } from '@acc/checkpoint';
import { AccError, isAccError, isRecord, parseJson } from '@acc/contract';

/** @throws AccError `ACC_MODEL_CONFIG_INVALID` if the file is missing or has no object. */
export async function readJson(folder: string, name: string): Promise<Record<string, unknown>> {
  const { storage, prefix } = locationOf(folder, undefined);
  try {
    const json = parseJson(new TextDecoder().decode(await storage.get(prefix + name)));
    if (isRecord(json)) return json;
  } catch (cause) {
    const isMissing = isAccError(cause, 'ACC_STORAGE_NOT_FOUND');
    if (!isMissing && isAccError(cause)) throw cause;
    const problem = isMissing ? 'does not exist' : `cannot be read as JSON: ${(cause as Error).message}`;
    throw invalid(`${folder}/${name}`, problem, cause);
  }
  throw invalid(`${folder}/${name}`, 'is not an object');
}

export async function writeJson(folder: string, name: string, json: object): Promise<void> {
  const { storage, prefix } = locationOf(folder, undefined);
  await storage.put(prefix + name, new TextEncoder().encode(`${JSON.stringify(json, null, 2)}\n`));
}

function invalid(path: string, problem: string, cause?: unknown): AccError {
  return new AccError('ACC_MODEL_CONFIG_INVALID', `${path} ${problem}.`, {
    help: 'Give a folder as the Hub has it: a config beside the files of weights.',
    cause,
  });
}
