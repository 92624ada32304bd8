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
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const response = await fetch(`/api/${path}?${search.toString()}`).catch((cause: unknown) => {
    throw new UnreachableError('The server cannot be reached.', { cause });
  });
  return (await (await checked(response)).json()) as T;
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const { message } = (await response.json()) as { message: string };
  throw new RequestError(response.status, message);
}
