import { AccError } from '@acc/contract';
import { errorCodeOf, type MlflowClient } from './client.js';

export interface VersionRequest {
  /** The name of the registered model. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly runId: string;
  /** The URI of the model's files. */
  readonly source: string;
}

interface ModelVersion {
  readonly version: string;
  readonly source: string;
}

/**
 * Registers the files of a run as a new version of a model, and lets aliases point to it. A repeated call
 * finds the version of the first one.
 */
export async function registerVersion(
  client: MlflowClient,
  { name, aliases, runId, source }: VersionRequest,
  signal: AbortSignal,
): Promise<void> {
  const reserved = aliases.find((alias) => /^(latest|v\d+)$/i.test(alias));
  if (reserved !== undefined) throw reservedAlias(reserved);
  try {
    await client.call('POST', 'registered-models/create', { name }, signal);
  } catch (error) {
    if (errorCodeOf(error) !== 'RESOURCE_ALREADY_EXISTS') throw error;
  }
  const query = { filter: `name = '${name.replaceAll("'", "\\'")}' and run_id = '${runId}'` };
  const found = await client.call<{ model_versions?: ModelVersion[] }>(
    'GET',
    'model-versions/search',
    query,
    signal,
  );
  const earlier = found.model_versions?.find((each) => each.source === source);
  const { version } = earlier ?? (await createVersion(client, { name, source, run_id: runId }, signal));
  for (const alias of aliases) {
    await client.call('POST', 'registered-models/alias', { name, alias, version }, signal);
  }
}

function reservedAlias(alias: string): AccError {
  return new AccError(
    'ACC_TRACKER_REFUSED',
    `MLflow reserves the alias '${alias}'. The model is not registered.`,
    {
      help: "Choose another one, such as 'champion'.",
    },
  );
}

async function createVersion(
  client: MlflowClient,
  request: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ModelVersion> {
  type Answer = { readonly model_version: ModelVersion };
  return (await client.call<Answer>('POST', 'model-versions/create', request, signal)).model_version;
}
