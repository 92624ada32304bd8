const MAX_KEY = 250;

/** A metric name that MLflow accepts. Other characters become `_`. */
export function metricName(key: string): string {
  return key.replace(/[^\w\-. :/]/g, '_').slice(0, MAX_KEY);
}

/** A number in the form that MLflow's JSON uses. */
export function metricValue(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}
