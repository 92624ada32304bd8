/** How fast a network is and how far apart its hosts are, as the options name them. */

const TERM = /^(\d+(?:\.\d+)?)(mbit|gbit)\/(\d+(?:\.\d+)?)(us|ms)$/;
const MBIT = { mbit: 1, gbit: 1000 };
const MICROSECONDS = { us: 1, ms: 1000 };

/**
 * Reads `host` (the ranks' own machine, without namespaces) or `<rate>/<delay>`, as `10gbit/1ms`: what each host sends goes at
 * that rate and arrives so much later, so that a round trip takes twice the delay.
 *
 * @returns `{name, title}`, and of a network `rateMbit` and `delayUs`.
 * @throws Error that says how it is written.
 */
export function parseNetwork(name) {
  if (name === 'host') return { name, title: 'host itself' };
  const [, rate, rateUnit, delay, delayUnit] = TERM.exec(name) ?? [];
  const rateMbit = Number(rate) * MBIT[rateUnit];
  if (!(rateMbit >= 1)) {
    throw new Error(`'${name}' is no network: host, or rate/delay, as 10gbit/1ms or 200mbit/500us`);
  }
  const title = `${rate} ${rateUnit === 'gbit' ? 'Gbit/s' : 'Mbit/s'}, ${delay} ${delayUnit === 'us' ? 'µs' : 'ms'}`;
  return { name, title, rateMbit, delayUs: Math.round(Number(delay) * MICROSECONDS[delayUnit]) };
}
