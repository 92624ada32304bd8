import type { Finding } from './finding.js';

/** A cause that costs so much of the time is critical. */
const CRITICAL = 0.2;
/** So many times as slow as others, or as before: a relative performance below 0.75 (NVRx's default). */
const SLOW = 1.33;

/** The severity of a cause by the share of the time that it costs. */
export function severityOf(share: number, critical = CRITICAL): Finding['severity'] {
  return share >= critical ? 'critical' : 'warning';
}

/** The severity of a time that is `ratio` times as long as it should be. */
export function severityOfRatio(ratio: number): Finding['severity'] {
  return severityOf(ratio, SLOW);
}
