import type { TapeHooks } from '@acc/contract';
import type * as calls from '../gradient-driver/hook-calls.js';

/** No backend of a page records steps, so calls need nothing besides. */
export class HookCalls implements Pick<calls.HookCalls, keyof calls.HookCalls> {
  constructor(private readonly runHook: calls.RunHook) {}

  end(hooks: TapeHooks): void {
    this.runHook([], () => (hooks.end!(), []));
  }

  around(hooks: TapeHooks, { variables, phase }: calls.OperatorUse): (name: 'before' | 'after') => void {
    return (name) => hooks[name] && this.runHook([], () => (hooks[name]!(variables, phase), []));
  }
}
