/** The rate and delay of a network, as the options name them. */

const TERM = /^(\d+(?:\.\d+)?)(mbit|gbit)\/(\d+(?:\.\d+)?)(us|ms)$/;
const MBIT = { mbit: 1, gbit: 1000 };
const MICROSECONDS = { us: 1, ms: 1000 };

/**
 * Parses `host` (the ranks' own machine, without namespaces) or `<rate>/<delay>`, for example
 * `10gbit/1ms`. Each host sends at that rate, and packets arrive with that delay, so a round trip
 * takes twice the delay.
 *
 * @returns `{name, title}`, and for a network also `rateMbit` and `delayUs`.
 * @throws Error that shows the syntax.
 */
export function parseNetwork(name) {
  if (name === 'host') return { name, title: 'host itself' };
  const [, rate, rateUnit, delay, delayUnit] = TERM.exec(name) ?? [];
  const rateMbit = Number(rate) * MBIT[rateUnit];
  if (!(rateMbit >= 1)) {
    throw new Error(
      `'${name}' is not a network. Expected host, or rate/delay, for example 10gbit/1ms or 200mbit/500us`,
    );
  }
  const title = `${rate} ${rateUnit === 'gbit' ? 'Gbit/s' : 'Mbit/s'}, ${delay} ${delayUnit === 'us' ? 'µs' : 'ms'}`;
  return { name, title, rateMbit, delayUs: Math.round(Number(delay) * MICROSECONDS[delayUnit]) };
}
