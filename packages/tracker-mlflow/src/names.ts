const MAX_KEY = 250;

/** A name as MLflow takes it: other characters become `_`. */
export function metricName(key: string): string {
  return key.replace(/[^\w\-. :/]/g, '_').slice(0, MAX_KEY);
}

/** A number as MLflow's JSON has it. */
export function metricValue(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}
