import { AccError, checkKeys, nearestName, showValue, type CommHookName } from '@acc/contract';
import { isCommHook, type CommHook } from '../comm-hook.js';
import { castHook } from './cast.js';
import { oneBitHook, type OneBitOptions } from './one-bit.js';
import { powerSgdHook, type PowerSgdOptions } from './power-sgd.js';
import { topKHook, type TopKOptions } from './top-k.js';

/** The name of a hook, alone or with its options. */
export type NamedCommHook =
  | CommHookName
  | { readonly name: 'bf16' | 'fp16' }
  | ({ readonly name: 'powerSgd' } & PowerSgdOptions)
  | ({ readonly name: 'topK' } & TopKOptions)
  | ({ readonly name: 'oneBit' } & OneBitOptions);

const FACTORIES: Readonly<Record<CommHookName, (options: object) => CommHook>> = {
  bf16: (options) => withoutOptions('bf16', options),
  fp16: (options) => withoutOptions('fp16', options),
  powerSgd: powerSgdHook,
  topK: topKHook,
  oneBit: oneBitHook,
};

/**
 * Returns the given hook, or creates the hook with the given name.
 *
 * @throws AccError `ACC_INVALID_OPTION` for an unknown name, `ACC_UNKNOWN_OPTION`.
 */
export function commHookOf(given: NamedCommHook | CommHook): CommHook {
  if (isCommHook(given)) return given;
  const { name, ...options } = typeof given === 'string' ? { name: given } : given;
  const known = Object.keys(FACTORIES);
  if (Object.hasOwn(FACTORIES, name)) return FACTORIES[name](options);
  const nearest = nearestName(String(name), known);
  throw new AccError(
    'ACC_INVALID_OPTION',
    `ddp.commHook is ${showValue(given)}; expected one of ${known.join(', ')}, a record with such a name, or your own hook.`,
    {
      help: nearest ? `Did you mean '${nearest}'?` : 'Your own hook must have the members name and reduce.',
      details: { name, known },
    },
  );
}

function withoutOptions(name: 'bf16' | 'fp16', options: object): CommHook {
  checkKeys(`commHook '${name}'`, options, []);
  return castHook(name);
}
