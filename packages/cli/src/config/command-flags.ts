import type { FieldValue } from '@acc/config';

export interface ConfigCommandFlags extends Readonly<Record<string, unknown>> {
  readonly configFile?: string;
  readonly user?: boolean;
  readonly default?: boolean;
  readonly force?: boolean;
  readonly set?: readonly SetOption[];
}

/** The words that may stand after `acc config`. */
export type ConfigAction = 'update';

/** An option of `--set NAME=VALUE`. */
export interface SetOption {
  readonly section: 'launch' | 'accelerator';
  readonly name: string;
  readonly value: FieldValue;
}
