import type { ConfiguredOption } from '@acc/config';
import { COMM_HOOKS, type CommHookTraits } from '@acc/contract';

/** The self-check that the ranks are asked to run. `@acc/core/self-check` reads it. */
export interface SelfCheckPlan {
  readonly folder: string;
  readonly isJson: boolean;
  readonly imports: readonly string[];
  readonly isRounded: boolean;
  readonly mixedPrecision: string;
  readonly leftOut: Readonly<Record<string, string>>;
}

const HOOKS: Readonly<Record<string, CommHookTraits>> = COMM_HOOKS;

/** The part of the plan that depends on the Accelerator's options from config files and variables. */
export function planFrom(
  options: readonly ConfiguredOption[],
): Pick<SelfCheckPlan, 'isRounded' | 'mixedPrecision' | 'leftOut'> {
  const valueOf = (name: string) =>
    options.find((option) => option.section === 'accelerator' && option.name === name)?.value;
  const mixedPrecision = String(valueOf('mixedPrecision') ?? 'no');
  const hook = String(valueOf('ddp.commHook') ?? '');
  const types = ['fsdp.mixedPrecision.param', 'fsdp.mixedPrecision.reduce'].map(
    (name) => valueOf(name) ?? 'float32',
  );
  const products = valueOf('amp.float32Precision') ?? 'ieee';
  const isRounded =
    mixedPrecision !== 'no' || hook !== '' || products !== 'ieee' || types.some((type) => type !== 'float32');
  return { isRounded, mixedPrecision, leftOut: leftOutWith(hook, valueOf('strategy')) };
}

function leftOutWith(hook: string, strategy: unknown): Record<string, string> {
  if (HOOKS[hook]?.isLossy)
    return { training: `ddp.commHook '${hook}' gives other weights than one process` };
  if (strategy === 'single') return { training: "strategy is 'single': ranks train by themselves" };
  return {};
}
