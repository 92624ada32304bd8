import type { RunInfo } from '@acc/contract';
import { errorCodeOf, type MlflowClient } from './client.js';

/**
 * The tag that identifies a run. With it, a run is found again if the answer to its creation was
 * lost.
 */
const ID_TAG = 'acc.run_id';

export interface MlflowRun {
  readonly runId: string;
  readonly experimentId: string;
  readonly artifactUri: string;
  /** The hyperparameters that the server already has. */
  readonly params: Readonly<Record<string, string>>;
}

interface RunAnswer {
  readonly run: {
    readonly info: { readonly run_id: string; readonly experiment_id: string; readonly artifact_uri: string };
    readonly data: { readonly params?: readonly { readonly key: string; readonly value: string }[] };
  };
}

/** The id of the experiment. Creates the experiment if it does not exist. */
async function experimentId(client: MlflowClient, name: string): Promise<string> {
  const find = async () => {
    const query = { experiment_name: name };
    const found = await client.call<{ experiment: { experiment_id: string } }>(
      'GET',
      'experiments/get-by-name',
      query,
    );
    return found.experiment.experiment_id;
  };
  try {
    return await find();
  } catch (error) {
    if (errorCodeOf(error) !== 'RESOURCE_DOES_NOT_EXIST') throw error;
  }
  try {
    return (await client.call<{ experiment_id: string }>('POST', 'experiments/create', { name }))
      .experiment_id;
  } catch (error) {
    // Another program created it at the same time.
    if (errorCodeOf(error) === 'RESOURCE_ALREADY_EXISTS') return find();
    throw error;
  }
}

/**
 * Creates a run. If an earlier attempt got no answer, first looks for the run that it may have
 * created.
 *
 * @param isRetry Whether there was an earlier attempt.
 */
export async function createRun(
  client: MlflowClient,
  run: RunInfo,
  { experiment, isRetry }: { experiment: string; isRetry: boolean },
): Promise<MlflowRun> {
  const experiment_id = await experimentId(client, experiment);
  if (isRetry) {
    const filter = `tags.\`${ID_TAG}\` = '${run.id}'`;
    const query = { experiment_ids: [experiment_id], filter, max_results: 1 };
    const { runs = [] } = await client.call<{ runs?: RunAnswer['run'][] }>('POST', 'runs/search', query);
    if (runs[0]) return runOf({ run: runs[0] });
  }
  const tags = {
    ...run.tags,
    [ID_TAG]: run.id,
    'mlflow.source.type': 'LOCAL',
    'mlflow.source.name': sourceName(),
  };
  return runOf(
    await client.call<RunAnswer>('POST', 'runs/create', {
      experiment_id,
      run_name: run.name,
      start_time: run.startTimeMs,
      tags: Object.entries(tags).map(([key, value]) => ({ key, value })),
    }),
  );
}

/** Reopens an existing run. */
export async function reopenRun(client: MlflowClient, runId: string): Promise<MlflowRun> {
  const found = runOf(await client.call<RunAnswer>('GET', 'runs/get', { run_id: runId }));
  await client.call('POST', 'runs/update', { run_id: runId, status: 'RUNNING' });
  return found;
}

function runOf({ run: { info, data } }: RunAnswer): MlflowRun {
  return {
    runId: info.run_id,
    experimentId: info.experiment_id,
    artifactUri: info.artifact_uri,
    params: Object.fromEntries((data.params ?? []).map(({ key, value }) => [key, value])),
  };
}

function sourceName(): string {
  return process.argv[1] ?? 'node';
}
