import { AccError, checkKeys } from '@acc/contract';
import { readMlflowEnvironment } from './environment.js';

export interface MlflowOptions {
  /** The URL of the server, for example `http://127.0.0.1:5000`. Default: MLFLOW_TRACKING_URI. */
  readonly url?: string;
  /**
   * The name of the experiment, which is created if it does not exist. Default:
   * MLFLOW_EXPERIMENT_NAME, else the project.
   */
  readonly experiment?: string;
  /** The id of an existing run to continue. Default: MLFLOW_RUN_ID, else a new run. */
  readonly runId?: string;
  /** Default: MLFLOW_TRACKING_TOKEN. */
  readonly token?: string;
  /** Default: MLFLOW_TRACKING_USERNAME, MLFLOW_TRACKING_PASSWORD. */
  readonly username?: string;
  readonly password?: string;
  /**
   * The number of metrics in one request. Default 1000, the maximum of MLflow. The maximum of Azure
   * ML is 200.
   */
  readonly batchMetrics?: number;
}

export interface ResolvedOptions {
  /** Without a trailing slash. */
  readonly url: string;
  readonly experiment: string | undefined;
  readonly runId: string | undefined;
  readonly authorization: string | undefined;
  readonly batchMetrics: number;
}

const KEYS = ['url', 'experiment', 'runId', 'token', 'username', 'password', 'batchMetrics'];

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveOptions(options: MlflowOptions): ResolvedOptions {
  checkKeys('mlflow', options, KEYS);
  const {
    url,
    experiment,
    runId,
    token,
    username,
    password,
    batchMetrics = 1000,
  } = {
    ...readMlflowEnvironment(),
    ...options,
  };
  if (url === undefined) throw invalid('there is no url', 'Set the option url, or MLFLOW_TRACKING_URI.');
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw invalid(`url is '${url}'`, 'Give the URL of an MLflow server, for example http://127.0.0.1:5000.');
  }
  if (!Number.isInteger(batchMetrics) || batchMetrics < 1 || batchMetrics > 1000) {
    throw invalid(`batchMetrics is ${batchMetrics}`, 'Give a whole number from 1 to 1000.');
  }
  const authorization = authorizationOf({ token, username, password });
  return { url: url.replace(/\/+$/, ''), experiment, runId, authorization, batchMetrics };
}

function authorizationOf({ token, username, password }: MlflowOptions): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (username === undefined) return undefined;
  return `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}`;
}

function invalid(problem: string, help: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `mlflow: ${problem}.`, { help });
}
