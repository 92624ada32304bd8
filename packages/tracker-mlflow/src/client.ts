import { AccError, isAccError, sendRequest, type SentRequest } from '@acc/contract';
import type { ResolvedOptions } from './options.js';

/** A client of the REST API of an MLflow server, version 2.0. */
export class MlflowClient {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ url, authorization }: Pick<ResolvedOptions, 'url' | 'authorization'>) {
    this.url = url;
    this.#headers = authorization === undefined ? {} : { authorization };
  }

  /**
   * @param path The path below `/api/2.0/mlflow/`, for example `runs/create`.
   * @param parameters The body of a POST, or the query of a GET.
   * @throws AccError like {@link sendRequest}; `details.errorCode` is MLflow's error code.
   */
  async call<T>(
    method: 'GET' | 'POST',
    path: string,
    parameters: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<T> {
    const url = new URL(`${this.url}/api/2.0/mlflow/${path}`);
    if (method === 'GET')
      for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, String(value));
    const body = method === 'POST' ? { body: JSON.stringify(parameters) } : {};
    const answer = await this.#send(url, { method, ...body, signal }, { 'content-type': 'application/json' });
    return JSON.parse(answer) as T;
  }

  /** @param path The path below the server's artifact root. */
  async put(path: string, body: SentRequest['body'], bytes: number, signal?: AbortSignal): Promise<void> {
    const encoded = path.split('/').map(encodeURIComponent).join('/');
    const url = new URL(`${this.url}/api/2.0/mlflow-artifacts/artifacts/${encoded}`);
    await this.#send(url, { method: 'PUT', body, signal }, { 'content-length': String(bytes) });
  }

  async #send(url: URL, request: SentRequest, headers: Readonly<Record<string, string>>): Promise<string> {
    try {
      return (await sendRequest(url, { ...request, headers: { ...this.#headers, ...headers } })).body;
    } catch (error) {
      throw isAccError(error, 'ACC_TRACKER_REFUSED') ? explained(error) : error;
    }
  }
}

/** MLflow's error code. Undefined for other errors. */
export function errorCodeOf(error: unknown): string | undefined {
  return isAccError(error) ? (error.details['errorCode'] as string | undefined) : undefined;
}

const HELP: Readonly<Record<number, string>> = {
  401: 'Set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.',
  403: 'Give the user the permission, or add the host name in the url to --allowed-hosts of the server.',
  404: 'Check that the url is that of an MLflow server, including its path.',
};

/** Adds the `error_code` and `message` of MLflow's answer to the error. */
function explained(error: AccError): AccError {
  const { status, body } = error.details as { status: number; body: string };
  const answer = parsed(body);
  const help = HELP[status];
  return new AccError(error.code, `MLflow: ${answer?.message ?? error.message}`, {
    ...(help !== undefined && !answer && { help }),
    cause: error,
    details: { ...error.details, errorCode: answer?.error_code },
  });
}

function parsed(body: string): { error_code?: string; message?: string } | undefined {
  try {
    return JSON.parse(body) as { error_code?: string; message?: string };
  } catch {
    return undefined;
  }
}
