import { notInBrowser } from '@acc/platform';
import type * as named from './named-hooks.js';

/** The hooks change what several processes send, so a page leaves their code out. */
export const commHookOf: (typeof named)['commHookOf'] = () => {
  throw notInBrowser(
    'The option ddp.commHook needs several processes',
    'Leave it out: a page trains in one process.',
  );
};
