import type { Ask } from '../server/answers.js';

/** An answer of the server that is an error. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** There was no answer. */
export class UnreachableError extends Error {}

/** Exchanges the token of the address for a cookie, and removes it from the address. */
export async function startSession(): Promise<void> {
  const token = location.hash.slice(1);
  if (token === '') return;
  history.replaceState(undefined, '', location.pathname);
  await checked(await fetch('/api/session', { method: 'POST', body: token }));
}

/** Asks the server for figures. @throws RequestError. */
export async function ask<T>(
  path: string,
  query: Readonly<Record<string, string | number>> = {},
): Promise<T> {
  const response = await fetch(addressOf(path, query)).catch((cause: unknown) => {
    throw new UnreachableError('The server cannot be reached.', { cause });
  });
  return (await (await checked(response)).json()) as T;
}

/** Hands a request to the running job. @throws RequestError: the reason why it is not. */
export async function askJob(given: Ask): Promise<void> {
  const post = { method: 'POST', body: JSON.stringify(given) };
  const response = await fetch('/api/ask', post).catch((cause: unknown) => {
    throw new UnreachableError('The server cannot be reached.', { cause });
  });
  await checked(response);
}

/** The address of something that the browser loads itself. */
export function addressOf(path: string, query: Readonly<Record<string, string | number>>): string {
  return `/api/${path}?${searchOf(query)}`;
}

function searchOf(query: Readonly<Record<string, string | number>>): string {
  return new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const { message } = (await response.json()) as { message: string };
  throw new RequestError(response.status, message);
}
