import { fileURLToPath } from 'node:url';
import { runProcess, runTogether } from '../harness/run-process.mjs';

/** The interface of every host. */
export const INTERFACE = 'eth0';
const PROBE_PORT = 29400;

/**
 * Several hosts on this one, in network namespaces: `@acc/testkit`'s TestNetwork. Whoever opens it must `dispose` of it.
 *
 * @param shape Of `parseNetwork`, with a rate.
 * @throws AccError where the system does not let us; nothing is left then.
 */
export async function openNetwork({ rateMbit, delayUs }, hosts) {
  // Loaded here, so that whoever needs no network needs no build of it.
  const { TestNetwork } = await import('@acc/testkit');
  // From host to host there are two cables.
  return TestNetwork.create({ hosts, cable: { delayMs: delayUs / 2000, mbitPerSecond: rateMbit } });
}

/** What runs a command on a host, in this terminal's process group: `[command, args]`. */
export function commandOn({ namespace }, command, args) {
  return ['ip', ['netns', 'exec', namespace, command, ...args]];
}

/**
 * What a connection between the first two hosts of a network gives.
 *
 * @returns `{roundTripMs, gbitPerS}`.
 * @throws Error when packets come sooner than they should: the network is not what it was asked to be.
 */
export async function measureConnection({ hosts }, { delayUs }, signal) {
  const probe = fileURLToPath(new URL('probe.mjs', import.meta.url));
  const start = (host, args) => (either) => {
    return runProcess(...commandOn(host, process.execPath, [probe, ...args, `${PROBE_PORT}`]), {}, either);
  };
  const starts = [start(hosts[0], ['serve']), start(hosts[1], ['measure', hosts[0].address])];
  const [, output] = await runTogether(starts, signal);
  const found = JSON.parse(output);
  if (found.roundTripMs >= (2 * delayUs) / 1000) return found;
  throw new Error(`packets are not delayed: a round trip takes ${found.roundTripMs} ms`);
}
