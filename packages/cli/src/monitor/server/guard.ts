import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Why a request is refused before anything else is looked at. A page of another site can send requests to
 * this machine, also under a name of its own that leads here, but it cannot choose `Host` and `Origin`.
 * The port is not compared: a tunnel of ssh may have another one at its other end.
 */
export function refusalOf({ headers }: IncomingMessage): string | undefined {
  const { host = '', origin } = headers;
  if (!LOOPBACK.includes(host.replace(/:\d+$/, '')))
    return `The host ${host || 'of the request'} is not this machine. Open the page at 127.0.0.1 or localhost.`;
  if (origin !== undefined && origin !== `http://${host}`)
    return `A page of ${origin} may not read this one.`;
  return undefined;
}

/** Compares secrets in constant time. */
export function isSameSecret(given: string, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}

/**
 * The name of the cookie. Cookies are those of a host with all its ports, so the name has the port that the
 * browser sees. At this end of a tunnel of ssh, it may be another one than that of the server.
 */
export function cookieName({ headers }: IncomingMessage): string {
  return `acc_monitor_${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? 80}`;
}

/** The value of a cookie. Undefined: there is none. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const cookies = (headers.cookie ?? '').split(';').map((each) => each.trim());
  return cookies.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
}
