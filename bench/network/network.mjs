import { fileURLToPath } from 'node:url';
import { runProcess, runTogether } from '../harness/run-process.mjs';

/** The name of the network interface on every host. */
export const INTERFACE = 'eth0';
const PROBE_PORT = 29400;

/**
 * Several hosts on this machine, in network namespaces: `@acc/testkit`'s TestNetwork. The caller
 * must `dispose` it.
 *
 * @param shape The result of `parseNetwork`, with a rate.
 * @throws AccError if the system does not permit it. Nothing is left behind.
 */
export async function openNetwork({ rateMbit, delayUs }, hosts) {
  // The import is here, so that runs without a network do not need the built package.
  const { TestNetwork } = await import('@acc/testkit');
  // There are two cables between two hosts.
  return TestNetwork.create({ hosts, cable: { delayMs: delayUs / 2000, mbitPerSecond: rateMbit } });
}

/** Returns `[command, args]` that run a command on a host, in this terminal's process group. */
export function commandOn({ namespace }, command, args) {
  return ['ip', ['netns', 'exec', namespace, command, ...args]];
}

/**
 * Measures a connection between the first two hosts of a network.
 *
 * @returns `{roundTripMs, gbitPerS}`.
 * @throws Error if packets arrive too early, because then the network has not the requested delay.
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
