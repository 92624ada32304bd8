import type { MetricsRow, RunConfig } from '@acc/contract';
import { flattenConfig } from '@acc/contract';

const SYSTEM = 'system/';

/** Metrics. Those of the system have Comet's prefix of such metrics. */
export function metricMessages(rows: readonly MetricsRow[]): object[] {
  return rows.flatMap(({ step, metrics, timeMs }) =>
    Object.entries(metrics).map(([name, value]) => {
      const metricName = name.startsWith(SYSTEM) ? `sys.${name.slice(SYSTEM.length)}` : name;
      // JSON has no NaN and no infinities.
      const metricValue = Number.isFinite(value) ? value : String(value);
      const metric = { metricName, metricValue, step, epoch: null };
      return { type: 'metric_msg', payload: { local_timestamp: timeMs, metric } };
    }),
  );
}

export function parameterMessages(config: RunConfig, timeMs: number): object[] {
  return Object.entries(flattenConfig(config)).map(([paramName, paramValue]) => {
    const param = { paramName, paramValue, step: null, source: 'manual' };
    return { type: 'parameter_msg', payload: { local_timestamp: timeMs, param } };
  });
}

/** A line of the experiment's output. */
export function outputMessage(output: string, timeMs: number): object {
  return {
    type: 'standard_output',
    payload: { local_timestamp: timeMs, output: `${output}\n`, stderr: false },
  };
}

/** Any other value, such as the experiment's name, which has the key `Name`. */
export function otherMessage(key: string, value: string): object {
  return { type: 'log_other', payload: { key, value } };
}

/** A file of an archive, as Comet has to know it. */
export interface Upload {
  readonly kind: 'visualization' | 'asset' | 'model-element';
  /** The name of the file in the archive. */
  readonly stored: string;
  readonly step: number;
  readonly timeMs: number;
  /** The fields that depend on the kind, such as the name in Comet. */
  readonly parameters: Readonly<Record<string, string>>;
}

export function uploadMessage({ kind, stored, step, timeMs, parameters }: Upload): object {
  const additional_params = { ...parameters, step, context: null, overwrite: false };
  const file = { file_path: stored, upload_type: kind, additional_params, metadata: {} };
  return { type: 'file_upload', payload: { local_timestamp: timeMs, ...file, clean: true } };
}
