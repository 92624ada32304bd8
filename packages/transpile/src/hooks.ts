import { facadesOf, type Facades } from './prepared/loading-hooks.js';

/** Module hooks, in the thread that Node.js runs them in. */
let hook: ReturnType<typeof facadesOf>;

export function initialize(facades: Facades): void {
  hook = facadesOf(facades);
}

export const load: ReturnType<typeof facadesOf> = (url, context, next) => hook(url, context, next);
